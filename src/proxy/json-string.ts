import type { JsonCursor } from "./json-cursor.ts";

const characterByEscape: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

/**
 * Reads the string whose opening quote is next, and unescapes it (RFC 8259 section 7).
 * @throws ProxyError body_not_json, also for a lone surrogate, which has no UTF-8 form: nobody could sign it
 */
export function readString(json: JsonCursor): string {
  json.skip('"');
  // Joined once: added up piece by piece it would be a chain of strings, which takes sixteen times the memory.
  const pieces: string[] = [];
  while (!json.skip('"')) pieces.push(json.next === "\\" ? readEscape(json) : readPlain(json));
  return pieces.length > 1 ? pieces.join("") : (pieces[0] ?? "");
}

function readPlain(json: JsonCursor): string {
  const plain = json.readWhile(isPlain);
  if (plain !== "") return plain;
  throw json.fail(json.next === "" ? "a string is not closed" : "a string has a control character that is not escaped");
}

function readEscape(json: JsonCursor): string {
  const start = json.at;
  json.skip("\\");
  const letter = json.read(1);
  const character = characterByEscape.get(letter);
  if (character !== undefined) return character;
  if (letter !== "u") throw json.fail("a string has a backslash that begins no escape", start);
  const unit = readUnit(json);
  if (unit < 0xd800 || unit > 0xdfff) return String.fromCharCode(unit);
  const pair = json.skip("\\") && json.skip("u") ? String.fromCharCode(unit, readUnit(json)) : "";
  if ((pair.codePointAt(0) ?? 0) > 0xffff) return pair;
  throw json.fail("a string has an escape for half of a surrogate pair", start);
}

/** A UTF-16 code unit in four hexadecimal digits. */
function readUnit(json: JsonCursor): number {
  const start = json.at;
  const digits = json.read(4);
  if (/^[0-9A-Fa-f]{4}$/.test(digits)) return Number.parseInt(digits, 16);
  throw json.fail("expected four hexadecimal digits", start);
}

/** Stands for itself in a string: no control character, quote or backslash. */
function isPlain(unit: number): boolean {
  return unit >= 0x20 && unit !== 0x22 && unit !== 0x5c;
}
