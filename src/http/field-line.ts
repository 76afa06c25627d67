import type { HeaderLines } from "./headers.ts";

/** RFC 9110 section 5.6.2. */
const token = /^[!#$%&'*+\-.^_`|~\dA-Za-z]+$/;
/** Visible characters, blanks and bytes above 0x7f (RFC 9110 section 5.5). A character above 0xff cannot be written. */
const fieldText = /^[\t\x20-\x7e\x80-\xff]*$/;

const tab = 0x09;
const space = 0x20;
const colon = 0x3a;

/** 1 for each byte that a token, such as a field name, may have. */
export const isTokenByte = bytesOf(token);
/** 1 for each byte that a field value may have. */
export const isFieldByte = bytesOf(fieldText);

/**
 * Reads one header or trailer line (RFC 9112 section 5), strictly: no blank before the colon, no folding, no control
 * characters.
 * @param text bytes read as Latin-1, in which the line ends at `end`
 * @param lines gets the name, in the sender's casing, and the value without the blanks around it
 * @returns false if it is no valid line
 */
export function readFieldLine(text: string, start: number, end: number, lines: string[]): boolean {
  let nameEnd = start;
  while (nameEnd < end && isTokenByte[text.charCodeAt(nameEnd)] === 1) nameEnd += 1;
  if (nameEnd === start || nameEnd === end || text.charCodeAt(nameEnd) !== colon) return false;
  let from = nameEnd + 1;
  let to = end;
  while (from < to && isBlank(text.charCodeAt(from))) from += 1;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
  if (!isFieldText(text, from, to)) return false;
  lines.push(text.slice(start, nameEnd), text.slice(from, to));
  return true;
}

/** Whether a field value, or a reason phrase, may have these characters. */
export function isFieldText(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    if (isFieldByte[text.charCodeAt(at)] !== 1) return false;
  }
  return true;
}

/**
 * Header lines in the form in which they are sent, each with its line end.
 * @returns undefined if a reader could take one of them for another line, or for several lines
 */
export function formatFieldLines(headers: HeaderLines): string | undefined {
  let lines = "";
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? "";
    const value = headers[at + 1] ?? "";
    if (!isToken(name) || !isFieldText(value, 0, value.length)) return undefined;
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

function isToken(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    if (isTokenByte[text.charCodeAt(at)] !== 1) return false;
  }
  return text !== "";
}

function isBlank(code: number): boolean {
  return code === space || code === tab;
}

function bytesOf(grammar: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => Number(grammar.test(String.fromCharCode(code))));
}
