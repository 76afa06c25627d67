import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { findDisagreements, homepageOf, publishedForm } from "../../scripts/release/versions.ts";
import { failureType } from "../../src/serving/answer.ts";
import { homepage } from "../../src/version.ts";

it("the version is the same in all files", () => {
  expect(findDisagreements()).toEqual([]);
});

it("a tag is refused that is not the version, or whose version has no date in the change log", () => {
  expect(findDisagreements("v99.0.0")).toEqual([
    ...(homepage === undefined ? [expect.stringContaining("homepage")] : []),
    expect.stringMatching(/^The tag is v99\.0\.0, the version /),
    ...(/^## \[\d/m.test(readFileSync("CHANGELOG.md", "utf8")) ? [] : [expect.stringContaining("CHANGELOG.md")]),
  ]);
});

it("no page of a release says that nothing is published, and no page before the first release says that packages are available", () => {
  for (const page of ["README.md", "docs/install.md"]) {
    const text = readFileSync(page, "utf8");
    expect(publishedForm(text)).not.toMatch(
      /published -->|<!-- (un)?published|[Uu]ntil the first version|No version is/,
    );
    // Before the first release, sentences that hold only later are enclosed by marks.
    if (homepage === undefined) expect(publishedForm(text)).not.toBe(text);
  }
});

it("a failure answer links to the documents of its release, unless the configuration names a web site", () => {
  const readme = homepageOf({ version: "1.2.3", repository: { url: "git+https://forge.example/pay/countersign.git" } });
  expect(failureType("draining", undefined, readme)).toBe(
    "https://forge.example/pay/countersign/blob/v1.2.3/docs/reference/errors.md#draining",
  );
  expect(failureType("draining", "https://docs.example/pay", readme)).toBe(
    "https://docs.example/pay/docs/reference/errors.html#draining",
  );
  expect(failureType("draining", undefined, undefined)).toBe("urn:countersign:failure:draining");
});
