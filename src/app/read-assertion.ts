import { codeOf, readRegularFile } from "../config/files/file-system.ts";
import { dropNewline } from "../config/rules/load-context.ts";
import { type Clock, within } from "../model/clock.ts";
import { parseAssertion, type TokenEndpoint } from "../oauth/token-endpoint.ts";

/** A disk that hangs holds up no token request, and no scrape, for longer. */
const longestReadMs = 1_000;

/** Reads assertions from their files, anew each time. The cause of a failure names the file, and never what stands in it. */
export function createReadAssertion(clock: Clock, readFile = readRegularFile): TokenEndpoint["readAssertion"] {
  return async (file) => {
    const reading = readFile(file).then(({ bytes }) => parseAssertion(dropNewline(bytes).toString()), codeOf);
    const read = (await within(clock, reading, longestReadMs)) ?? "not read in time";
    return typeof read === "string" ? { kind: "failed", cause: `assertion file ${file}: ${read}` } : read;
  };
}
