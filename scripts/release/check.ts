import { print, printError } from "../../src/cli/terminal.ts";
import { findDisagreements } from "./versions.ts";

// `npm run release:check -- vVERSION`: whether this checkout has that version everywhere, and CHANGELOG.md has it with a date.

const [tag] = process.argv.slice(2);
const wrong = findDisagreements(tag);
for (const sentence of wrong) printError(sentence);
if (wrong.length === 0) print("one version everywhere");
process.exitCode = wrong.length > 0 ? 1 : 0;
