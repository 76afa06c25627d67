import { ProxyError } from "../../model/errors.ts";

const tab = 0x09;
const space = 0x20;
const colon = 0x3a;
const del = 0x7f;

/** By character code: what a name may be made of (RFC 9110 section 5.6.2). */
const isTokenChar: readonly boolean[] = Array.from({ length: 256 }, (_, code) =>
  /[!#$%&'*+\-.^_`|~\dA-Za-z]/.test(String.fromCharCode(code)),
);

/**
 * Reads one header or trailer line (RFC 9112 section 5) and adds its name and value to the flat list. Nothing may stand
 * between name and colon, no line goes on in the next, and a value has no control characters but tabs.
 * @param end where its line end begins
 * @throws ProxyError malformed_request
 */
export function readFieldLine(text: string, start: number, end: number, lines: string[]): string[] {
  let position = start;
  while (position < end && isTokenChar[text.charCodeAt(position)] === true) position += 1;
  if (position === start || position === end || text.charCodeAt(position) !== colon) {
    throw malformed("HPE_INVALID_HEADER_TOKEN");
  }
  let first = position + 1;
  while (first < end && isBlank(text.charCodeAt(first))) first += 1;
  let last = end;
  while (last > first && isBlank(text.charCodeAt(last - 1))) last -= 1;
  checkCharacters(text, first, last);
  lines.push(text.slice(start, position), text.slice(first, last));
  return lines;
}

function checkCharacters(text: string, start: number, end: number): void {
  for (let position = start; position < end; position += 1) {
    const code = text.charCodeAt(position);
    if ((code < space && code !== tab) || code === del) throw malformed("HPE_INVALID_HEADER_TOKEN");
  }
}

function isBlank(code: number): boolean {
  return code === space || code === tab;
}

/** What is wrong with bytes that are no HTTP/1.1, by the codes of llhttp: logs have them, and so do other programs. */
export type SyntaxFault =
  | "HPE_INVALID_METHOD"
  | "HPE_INVALID_URL"
  | "HPE_INVALID_VERSION"
  | "HPE_INVALID_HEADER_TOKEN"
  | "HPE_CR_EXPECTED"
  | "HPE_INVALID_CONTENT_LENGTH"
  | "HPE_INVALID_TRANSFER_ENCODING"
  | "HPE_INVALID_CHUNK_SIZE"
  | "HPE_CHUNK_EXTENSIONS_OVERFLOW"
  | "HPE_INVALID_EOF_STATE";

export function malformed(causedBy: SyntaxFault): ProxyError {
  return new ProxyError("malformed_request", `The request is not well-formed HTTP/1.1 (${causedBy}).`, { causedBy });
}

export function headTooLarge(): ProxyError {
  const causedBy = "HPE_HEADER_OVERFLOW";
  return new ProxyError("headers_too_large", "The header section is longer than 16 KiB.", { causedBy });
}
