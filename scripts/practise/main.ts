import { readFileSync, writeFileSync } from "node:fs";
import { print } from "../../src/cli/terminal.ts";
import { normalise, practisePage, readPage, stepsOf, writePage } from "./page.ts";
import { rehearse } from "./rehearse.ts";

// `npm run practise`: follows the page against a running demo, and writes what was printed into it. Where a step printed
// what every run may differ in, and nothing else, the page keeps what it has.

// Ctrl-C ends what was started, too.
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
