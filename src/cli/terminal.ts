import { styleText } from "node:util";
import { usageFailure } from "./command.ts";

/** Writes a line to standard output. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

export function printError(text: string): void {
  process.stderr.write(`${text}\n`);
}

type Style = Parameters<typeof styleText>[0];

/** Colours text for a terminal; never where output goes to a file or NO_COLOR is set. */
export function paint(style: Style, text: string): string {
  const isWanted = process.stdout.isTTY === true && process.env["NO_COLOR"] === undefined;
  return isWanted ? styleText(style, text) : text;
}

const longestShown = 80;

/** Foreign text for a terminal: one line, no control characters, not too long. */
export function printable(text: string): string {
  const line = text.replace(/[^\x20-\x7e\u00a1-\u024f]+/g, " ").trim();
  return line.length <= longestShown ? line : `${line.slice(0, longestShown - 1)}…`;
}

/** The most that `limits.bodyBytes` may be. */
const longestInputBytes = 16_777_216;

/** Tells a person at a terminal what the command waits for. */
export function announceInput(what: string): void {
  if (process.stdin.isTTY) printError(`Waiting for ${what} on standard input. Ctrl-D on a new line ends it.`);
}

/**
 * Everything on standard input, never a part of it.
 * @param what the input is, for a person at a terminal
 */
export async function readStandardInput(what: string): Promise<Uint8Array> {
  announceInput(what);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin) {
    const bytes = Buffer.from(chunk);
    length += bytes.length;
    if (length > longestInputBytes) throw usageFailure("Standard input is longer than 16 MiB.");
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
