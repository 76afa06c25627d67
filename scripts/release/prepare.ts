import { readFileSync, writeFileSync } from "node:fs";
import { printError } from "../../src/cli/terminal.ts";
import { findDisagreements, homepageOf, publishedForm, writeVersion } from "./versions.ts";

// `npm version` runs this after it changes package.json: it writes the version to the other files, and a section to CHANGELOG.md.

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const { version } = manifest;
const today = new Date().toISOString().slice(0, 10);

writeVersion(version);
// The base of a failure's `type`, once this version is built.
rewrite("package.json", () => `${JSON.stringify({ ...manifest, homepage: homepageOf(manifest) }, undefined, 2)}\n`);
rewrite("CHANGELOG.md", (text) => text.replace("## [Unreleased]\n", `$&\n## [${version}] - ${today}\n`));
// Until a version is published, pages only show how to run a checkout: anybody could take the unused package name.
for (const page of ["README.md", "docs/install.md"]) rewrite(page, publishedForm);
const wrong = findDisagreements(`v${version}`);
for (const sentence of wrong) printError(sentence);
process.exitCode = wrong.length > 0 ? 1 : 0;

function rewrite(file: string, change: (text: string) => string): void {
  writeFileSync(file, change(readFileSync(file, "utf8")));
}
