import { styleText } from "node:util";

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

/** Colours text for a terminal; never if the output goes to a file or NO_COLOR is set. */
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
