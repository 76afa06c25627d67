import { print, printError } from "../../src/cli/terminal.ts";
import { makeMixin } from "./mixin.ts";

// `npm run mixin -- FOLDER`: makes the monitoring mixin, as a release does. deploy/mixin/README.md says how it is used.

const [folder, ...others] = process.argv.slice(2);
if (folder === undefined || others.length > 0) {
  printError("npm run mixin -- FOLDER");
  process.exitCode = 2;
} else {
  makeMixin(folder);
  print(folder);
}
