import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { findDocuments, pageOf, slugOf } from "../../scripts/site/documents.ts";
import { findUnlisted } from "../../scripts/site/navigation.ts";
import { failureCodes } from "../../src/model/errors.ts";

// The web site of the documents, as far as readers are led to it. .ci/run builds it.

it("docs/index.md lists every document of docs/", () => {
  expect(findUnlisted(".")).toEqual([]);
});

it("the site has an anchor for each failure, to which the answer's `type` leads", () => {
  const page = "docs/reference/errors.md";
  expect(findDocuments(".").pages.map(pageOf)).toContain(page);
  const anchors = [...readFileSync(page, "utf8").matchAll(/^## (.+)$/gm)].map(([, heading = ""]) => slugOf(heading));
  expect(failureCodes.filter((code) => !anchors.includes(code))).toEqual([]);
});
