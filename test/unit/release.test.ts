import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { collectMentions, currentVersion, findDisagreements } from "../../scripts/release/agreement.ts";
import { fillFormula, makeArtifacts } from "../../scripts/release/artifacts.ts";
import { readSections, release } from "../../scripts/release/changelog.ts";
import { readOptions } from "../../scripts/release/options.ts";
import { findMentions, isVersion, places, replaceVersion } from "../../scripts/release/versions.ts";
import { ConfigFolder } from "../../testkit/config-folder.ts";

const home = "https://forge.example/countersign";
const changelog = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n* This.\n";

describe("the version", () => {
  it("is the same wherever it stands", () => {
    expect(findDisagreements()).toEqual([]);
  });

  it("stands in packages, charts, Dockerfile, Compose, manifests and documents", () => {
    const files = new Set(
      collectMentions()
        .flat()
        .map(({ file }) => file),
    );
    for (const file of [
      "package.json",
      "simulator/package.json",
      "package-lock.json",
      "helm/countersign/Chart.yaml",
      "helm/example-app/Chart.yaml",
      "Dockerfile",
      "deploy/compose/compose.yaml",
      "deploy/kustomize/patch.yaml",
      "docs/install.md",
      "docs/kubernetes.md",
    ]) {
      expect(files).toContain(file);
    }
  });

  it("is found and replaced, and what only looks like it is not", () => {
    const text =
      "image: countersign:1.2.3\nimage: redis:1.2.3\nnpm install countersign@1.2.3\nother-countersigns@1.2.3\n";
    const mentions = places.flatMap((place) => findMentions("a.md", text, place));
    expect(mentions).toEqual([
      { file: "a.md", line: 1, version: "1.2.3" },
      { file: "a.md", line: 3, version: "1.2.3" },
    ]);
    expect(places.reduce((so, place) => replaceVersion(so, "2.0.0-rc.1", place), text)).toBe(
      text
        .replace("countersign:1.2.3", "countersign:2.0.0-rc.1")
        .replace("l countersign@1.2.3", "l countersign@2.0.0-rc.1"),
    );
  });

  it.each(["0.1", "v0.1.0", "0.1.0+build", "0.1.0-", ""])("is refused as %j", (text) => {
    expect(isVersion(text)).toBe(false);
    expect(() => readOptions(["prepare", text], "2026-12-01")).toThrow("prepare wants a version");
  });
});

describe("the change log", () => {
  it("gets a dated section, an empty one above it, and links", () => {
    const first = release(changelog, "0.1.0", "2026-12-01", home);
    expect(first).toBe(
      "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-12-01\n\n### Added\n\n* This.\n\n" +
        `[Unreleased]: ${home}/compare/v0.1.0...HEAD\n[0.1.0]: ${home}/releases/tag/v0.1.0\n`,
    );
    const second = release(
      first.replace("## [Unreleased]\n", "## [Unreleased]\n\n* That.\n"),
      "0.2.0",
      "2027-01-01",
      home,
    );
    expect(readSections(second)).toEqual([
      { name: "Unreleased", date: undefined, text: "" },
      { name: "0.2.0", date: "2027-01-01", text: "* That." },
      { name: "0.1.0", date: "2026-12-01", text: "### Added\n\n* This." },
    ]);
    expect(second).toContain(`[0.2.0]: ${home}/compare/v0.1.0...v0.2.0\n[0.1.0]: ${home}/releases/tag/v0.1.0\n`);
  });

  it("is refused where there is nothing to release, or the version is there", () => {
    const first = release(changelog, "0.1.0", "2026-12-01", home);
    expect(() => release(first, "0.2.0", "2026-12-02", home)).toThrow("nothing under");
    const more = first.replace("## [Unreleased]\n", "## [Unreleased]\n\n* That.\n");
    expect(() => release(more, "0.1.0", "2026-12-02", home)).toThrow("a section [0.1.0] already");
  });

  it("has that form", () => {
    const [first, ...others] = readSections(readFileSync("CHANGELOG.md", "utf8"));
    expect(first?.name).toBe("Unreleased");
    for (const { name, date } of others) expect({ name, date }).toEqual({ name, date: expect.any(String) });
  });
});

it("a tag is refused that is not the version", () => {
  expect(findDisagreements("v99.0.0")).toContain(`The tag is v99.0.0, the version ${currentVersion()}.`);
});

it("the formula has the version and the checksum, and no placeholder", () => {
  const formula = fillFormula(readFileSync("deploy/homebrew/countersign.rb", "utf8"), "0.1.0", "c0ffee");
  expect(formula).toContain(
    'url "https://registry.npmjs.org/countersign/-/countersign-0.1.0.tgz"\n  sha256 "c0ffee"\n',
  );
  expect(formula).toMatch(/^class Countersign < Formula\n/);
  expect(() => fillFormula("@OTHER@", "0.1.0", "c0ffee")).toThrow("a placeholder");
});

it("a folder with other files is left as it is", () => {
  expect(() => makeArtifacts("docs", "0.1.0")).toThrow("docs has other files than those of a release");
});

it("the configuration that the formula checks is sound", async () => {
  const [, yaml = ""] = /<<~YAML\n(.*?)\n *YAML\n/s.exec(readFileSync("deploy/homebrew/countersign.rb", "utf8")) ?? [];
  expect(yaml).toContain("#{testpath}/key");
  expect(await new ConfigFolder().problemsOf(yaml.replace("#{testpath}/key", "DIR/k1"))).toEqual([]);
});

it.each([
  [["prepare", "0.2.0", "--date", "2026-02-30"], "--date wants a day"],
  [["artifacts"], "artifacts wants a folder"],
  [["publish"], "publish is no command"],
  [["check", "--taq", "v1"], "Unknown option"],
])("the command line %j is refused", (args, why) => {
  expect(() => readOptions(args, "2026-12-01")).toThrow(why);
});
