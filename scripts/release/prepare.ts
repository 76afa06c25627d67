import { readFileSync, writeFileSync } from "node:fs";
import { printError } from "../../src/cli/terminal.ts";
import { findDisagreements, homepageOf, publishedForm, writeVersion } from "./versions.ts";

// `npm version` runs this when package.json has the new version: the other places get it too, and CHANGELOG.md a section of it.

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const { version } = manifest;
const today = new Date().toISOString().slice(0, 10);

writeVersion(version);
// Where a failure's `type` leads, once this version is built.
rewrite("package.json", () => `${JSON.stringify({ ...manifest, homepage: homepageOf(manifest) }, undefined, 2)}\n`);
rewrite("CHANGELOG.md", (text) => text.replace("## [Unreleased]\n", `$&\n## [${version}] - ${today}\n`));
// Until a version is published pages show the checkout's way only: a package name that is not taken yet could be anybody's.
for (const page of ["README.md", "docs/install.md"]) rewrite(page, publishedForm);
const wrong = findDisagreements(`v${version}`);
for (const sentence of wrong) printError(sentence);
process.exitCode = wrong.length > 0 ? 1 : 0;

function rewrite(file: string, change: (text: string) => string): void {
  writeFileSync(file, change(readFileSync(file, "utf8")));
}
