import { readFileSync, writeFileSync } from "node:fs";
import { print } from "../../src/cli/terminal.ts";
import { normalise, practisePage, readPage, stepsOf, writePage } from "./page.ts";
import { rehearse } from "./rehearse.ts";

// `npm run practise`: follows the page against a running demo, and writes the outputs into it. If an output differs only
// in values that differ in every run, the page keeps the old one.

// Ctrl-C also ends the started processes.
process.on("SIGINT", () => process.exit(1));

const parts = readPage(readFileSync(practisePage, "utf8"));
const outputs: string[] = [];
await rehearse(stepsOf(parts), ({ topic, command, output: before }, output) => {
  const isSame = normalise(output) === normalise(before);
  outputs.push(isSame ? before : output);
  if (!isSame) print(`${topic}: $ ${command}`);
});
writeFileSync(practisePage, writePage(parts, outputs));
print(`${outputs.length} steps followed; ${practisePage} has what they printed.`);
