import { ProxyError } from "../model/errors.ts";

/** What a sender that encodes all that it should can write. `;` is a separator to some parsers and a value to others. */
const encodedForm = /^[A-Za-z0-9!$%&'()*+,./:=?@_~|[\]-]*$/;

/**
 * Reads `application/x-www-form-urlencoded` (URL standard, section 5), and queries, which have the same form. What parsers
 * differ in is refused: it must not be one thing here and another in the application.
 * @returns names and values in their order, repetitions included; each is read when it is asked for, so that a reader that
 * has enough stops
 * @throws ProxyError malformed_request
 */
export function* readForm(text: string, where: "body" | "query"): Generator<[name: string, value: string]> {
  if (!encodedForm.test(text)) throw malformed(`The ${where} has a character that must be percent-encoded.`, where);
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf("&", at);
    const pair = text.slice(at, next === -1 ? text.length : next);
    at += pair.length + 1;
    if (pair === "") continue;
    const end = pair.indexOf("=");
    const [name, value] = end === -1 ? [pair, ""] : [pair.slice(0, end), pair.slice(end + 1)];
    yield [decode(name, where), decode(value, where)];
  }
}

/** Percent-encoded UTF-8, and `+` for a space. */
function decode(text: string, where: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw malformed(`The ${where} is not valid percent-encoded UTF-8.`, where);
  }
}

function malformed(what: string, causedBy: string): ProxyError {
  return new ProxyError("malformed_request", what, { causedBy });
}
