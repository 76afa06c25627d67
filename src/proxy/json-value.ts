import type { JsonCursor } from "./json-cursor.ts";
import { readString } from "./json-string.ts";

/** What a JSON value is (RFC 8259 section 3). */
export type Kind = "string" | "number" | "boolean" | "null" | "object" | "array";

const kindByFirst: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ['"', "string"],
  ["{", "object"],
  ["[", "array"],
  ["t", "boolean"],
  ["f", "boolean"],
  ["n", "null"],
  ...[..."-0123456789"].map((first): [string, Kind] => [first, "number"]),
]);

const words: ReadonlySet<string> = new Set(["true", "false", "null"]);

/**
 * Reads over white space and tells what kind of value begins there.
 * @throws ProxyError body_not_json
 */
export function kindAhead(json: JsonCursor): Kind {
  json.skipSpace();
  const kind = kindByFirst.get(json.next);
  if (kind === undefined) throw json.fail("expected a value");
  return kind;
}

/**
 * Reads a member's name, unescaped, and its colon.
 * @throws ProxyError body_not_json
 */
export function readName(json: JsonCursor): string {
  json.skipSpace();
  if (json.next !== '"') throw json.fail("expected a name in double quotes");
  const name = readString(json);
  if (!json.take(":")) throw json.fail('expected ":"');
  return name;
}

/**
 * Reads the value ahead if it is neither object nor array: a string unescaped, the others as they are written.
 * @throws ProxyError body_not_json
 */
export function readScalar(json: JsonCursor): string {
  const kind = kindAhead(json);
  if (kind === "string") return readString(json);
  return kind === "number" ? readNumber(json) : readWord(json);
}

/** RFC 8259 section 6. A digit after a leading zero is left over, and refused by whoever reads on. */
function readNumber(json: JsonCursor): string {
  const start = json.at;
  json.skip("-");
  if (!json.skip("0")) skipDigits(json);
  if (json.skip(".")) skipDigits(json);
  if (json.skip("e") || json.skip("E")) {
    if (!json.skip("+")) json.skip("-");
    skipDigits(json);
  }
  return json.textSince(start);
}

function skipDigits(json: JsonCursor): void {
  if (json.readWhile(isDigit) === "") throw json.fail("expected a digit");
}

function readWord(json: JsonCursor): string {
  const start = json.at;
  const word = json.readWhile(isLowercaseLetter);
  if (!words.has(word)) throw json.fail("expected true, false or null", start);
  return word;
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

function isLowercaseLetter(unit: number): boolean {
  return unit >= 0x61 && unit <= 0x7a;
}
