import { ProxyError } from "../model/errors.ts";

const byteOrderMark = "\uFEFF";
/** `ignoreBOM` keeps the mark, so that it is seen. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Decodes a body as JSON travels: UTF-8 without a byte order mark (RFC 8259 section 8.1). Nothing is replaced: the text
 * encodes to the very bytes that came in, so it has no lone surrogate.
 * @throws ProxyError body_not_json
 */
export function decodeUtf8(body: Uint8Array): string {
  if (isUtf16(body)) throw refuse("The body looks like UTF-16; send it as UTF-8");
  const text = decode(body);
  if (text === undefined) throw refuse(`The body is not valid UTF-8: see byte ${findBadByte(body)}`);
  if (text.startsWith(byteOrderMark)) throw refuse("The body starts with a byte order mark; send it without one");
  return text;
}

function decode(body: Uint8Array): string | undefined {
  try {
    return utf8.decode(body);
  } catch {
    return undefined;
  }
}

/** Either byte order mark, or a NUL where JSON has its first two characters. */
function isUtf16(body: Uint8Array): boolean {
  const first = body[0];
  const second = body[1];
  if (first === undefined || second === undefined) return false;
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || first === 0 || second === 0;
}

/** Where lenient decoding first changes a byte, counted from 1. */
function findBadByte(body: Uint8Array): number {
  const fixed = new TextEncoder().encode(new TextDecoder("utf-8", { ignoreBOM: true }).decode(body));
  return fixed.findIndex((byte, index) => byte !== body[index]) + 1;
}

function refuse(what: string): ProxyError {
  return new ProxyError("body_not_json", `${what}.`);
}
