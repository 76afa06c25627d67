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

/** Text that holds names from disk: a control character, or one that turns the direction of writing, is shown by its number. */
export function escapeControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant
  return text.replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u{${character.charCodeAt(0).toString(16)}}`;
  });
}

const longestShown = 80;

/** Foreign text for a terminal: one line, no control characters, not too long. */
export function printable(text: string): string {
  const line = text.replace(/[^\x20-\x7e\u00a1-\u024f]+/g, " ").trim();
  return line.length <= longestShown ? line : `${line.slice(0, longestShown - 1)}…`;
}
