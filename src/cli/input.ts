import { createReadStream } from "node:fs";
import { errorCodeOf } from "../model/defect.ts";
import { usageFailure } from "./command.ts";
import { printError } from "./terminal.ts";

/** The maximum of `limits.bodyBytes`. */
const longestBytes = 16_777_216;

/**
 * Reads all of standard input, never only a part.
 * @param what names the input to a person at a terminal
 * @throws CommandFailure if the input is too long
 */
export async function readStandardInput(what: string): Promise<Buffer> {
  if (process.stdin.isTTY) printError(`Waiting for ${what} on standard input. Ctrl-D on a new line ends it.`);
  const bytes = await readWithin(process.stdin);
  if (bytes === undefined) throw usageFailure("Standard input is longer than 16 MiB.");
  return bytes;
}

/**
 * Reads a file that the command line names, which may be a pipe.
 * @param end the end of the error message, after the reason
 * @throws CommandFailure if the file cannot be read, or is too long
 */
export async function readOrRefuse(path: string, end: string, name = path): Promise<Buffer> {
  const bytes = await readWithin(createReadStream(path)).catch((error: unknown) => {
    throw usageFailure(`${name} cannot be read (${errorCodeOf(error) ?? "UNKNOWN"})${end}`);
  });
  if (bytes === undefined) throw usageFailure(`${name} is longer than 16 MiB${end}`);
  return bytes;
}

/** All of the input; undefined if it is too long: then the rest is not read. */
async function readWithin(input: AsyncIterable<Uint8Array>): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of input) {
    length += chunk.length;
    if (length > longestBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
