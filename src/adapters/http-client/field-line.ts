/** Which bytes a field name may have (RFC 9110 section 5.6.2). */
const isTokenByte = new Uint8Array(256);
for (const char of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
  isTokenByte[char.charCodeAt(0)] = 1;
}

const tab = 0x09;
const space = 0x20;
const colon = 0x3a;
const del = 0x7f;

/**
 * Reads one field line (RFC 9112 section 5), strictly: no space before the colon, no folding, no control characters.
 * @param text bytes read as Latin-1, in which the line ends at `end`
 * @param lines gets the name, in the sender's casing, and the value without the blanks around it
 * @returns false where it is none
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

/** Whether these are visible characters, blanks and bytes above 0x7f (RFC 9110 section 5.5). */
export function isFieldText(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    if ((code < space && code !== tab) || code === del) return false;
  }
  return true;
}

function isBlank(code: number): boolean {
  return code === space || code === tab;
}
