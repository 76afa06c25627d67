import { ProxyError } from "../model/errors.ts";

/** What a JSON value is (RFC 8259 section 3). */
export type Kind = "string" | "number" | "boolean" | "null" | "object" | "array";

/** One `"name": value` and where its two halves begin; the text of a nested value is not kept. */
export interface Member {
  readonly name: string;
  readonly nameAt: number;
  readonly kind: Kind;
  /** A string unescaped; a number or a word as written; empty for an object or an array. */
  readonly text: string;
  readonly valueAt: number;
}

export const kindInWords: Readonly<Record<Kind, string>> = {
  string: "a string",
  number: "a number",
  boolean: "a boolean",
  null: "null",
  object: "an object",
  array: "an array",
};

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
const byteOrderMark = "\uFEFF";
const deepest = 64;

/** Tests of a UTF-16 code unit. */
const isSpace = (unit: number) => unit === 0x20 || unit === 0x09 || unit === 0x0a || unit === 0x0d;
const isDigit = (unit: number) => unit >= 0x30 && unit <= 0x39;
const isLowercaseLetter = (unit: number) => unit >= 0x61 && unit <= 0x7a;
/** Stands for itself in a string: no control character, quote or backslash. */
const isPlain = (unit: number) => unit >= 0x20 && unit !== 0x22 && unit !== 0x5c;

/**
 * Reads a JSON object in one pass. `JSON.parse` cannot decide what is signed: it lets the last of two equal names win,
 * reorders names that look like integers and changes numbers.
 */
export class FlatJson {
  readonly #text: string;
  /** Index of the next character. */
  #at = 0;

  /** @throws ProxyError body_not_json, where the body is not UTF-8 */
  constructor(body: Uint8Array) {
    this.#text = decodeUtf8(body);
  }

  /** The number of the character (code point) at an index, counted from 1. */
  characterAt(index: number): number {
    return this.#text.slice(0, index).replace(/[\uDC00-\uDFFF]/g, "").length + 1;
  }

  /**
   * The members of the one object that the whole text is.
   * @throws ProxyError body_not_json
   */
  *readMembers(): Generator<Member, void> {
    const kind = this.#kindAhead();
    if (kind !== "object") throw refuse(`The body is ${kindInWords[kind]}, not a JSON object`);
    this.#take("{");
    if (!this.#take("}")) {
      do yield this.#readMember();
      while (this.#take(","));
      if (!this.#take("}")) throw this.#fail('expected "," or "}"');
    }
    this.#readWhile(isSpace);
    if (this.#next !== "") throw this.#fail("expected nothing after the object");
  }

  #readMember(): Member {
    this.#readWhile(isSpace);
    const nameAt = this.#at;
    const name = this.#readName();
    const kind = this.#kindAhead();
    const valueAt = this.#at;
    if (kind !== "object" && kind !== "array") return { name, nameAt, kind, text: this.#readScalar(), valueAt };
    this.#skipNested();
    return { name, nameAt, kind, text: "", valueAt };
  }

  /** Reads over white space and returns the kind of the value that begins there. */
  #kindAhead(): Kind {
    this.#readWhile(isSpace);
    const kind = kindByFirst.get(this.#next);
    if (kind === undefined) throw this.#fail("expected a value");
    return kind;
  }

  /** Reads a member's name, unescaped, and its colon. */
  #readName(): string {
    this.#readWhile(isSpace);
    if (this.#next !== '"') throw this.#fail("expected a name in double quotes");
    const name = this.#readString();
    if (!this.#take(":")) throw this.#fail('expected ":"');
    return name;
  }

  /** Reads a value that is neither object nor array: a string unescaped, the others as they are written. */
  #readScalar(): string {
    const kind = this.#kindAhead();
    if (kind === "string") return this.#readString();
    return kind === "number" ? this.#readNumber() : this.#readWord();
  }

  /**
   * Reads over an object or array, checks its syntax and keeps nothing. The closers that are still missing are the only
   * state, and RFC 8259 section 9 allows to bound their number: so depth costs neither stack nor memory.
   */
  #skipNested(): void {
    const closers: string[] = [];
    do {
      const closer = this.#take("{") ? "}" : this.#take("[") ? "]" : undefined;
      if (closer === undefined) this.#readScalar();
      else {
        if (closers.push(closer) > deepest) throw this.#fail(`a value is nested deeper than ${deepest} levels`);
        if (!this.#take(closer)) {
          if (closer === "}") this.#readName();
          continue;
        }
        closers.pop();
      }
      let open = closers.at(-1);
      for (; open !== undefined && this.#take(open); open = closers.at(-1)) closers.pop();
      if (open === undefined) return;
      if (!this.#take(",")) throw this.#fail(`expected "," or "${open}"`);
      if (open === "}") this.#readName();
    } while (closers.length > 0);
  }

  /** Reads the string whose opening quote is next, and unescapes it (RFC 8259 section 7). */
  #readString(): string {
    this.#skip('"');
    // Joined once: added up piece by piece it would be a chain of strings, which takes sixteen times the memory.
    const pieces: string[] = [];
    while (!this.#skip('"')) pieces.push(this.#next === "\\" ? this.#readEscape() : this.#readPlain());
    return pieces.length > 1 ? pieces.join("") : (pieces[0] ?? "");
  }

  #readPlain(): string {
    const plain = this.#readWhile(isPlain);
    if (plain !== "") return plain;
    const what = this.#next === "" ? "is not closed" : "has a control character that is not escaped";
    throw this.#fail(`a string ${what}`);
  }

  /** A lone surrogate is refused: it has no UTF-8 form, so it cannot be signed. */
  #readEscape(): string {
    const start = this.#at;
    this.#skip("\\");
    const letter = this.#read(1);
    const character = characterByEscape.get(letter);
    if (character !== undefined) return character;
    if (letter !== "u") throw this.#fail("a string has a backslash that begins no escape", start);
    const unit = this.#readUnit();
    if (unit < 0xd800 || unit > 0xdfff) return String.fromCharCode(unit);
    const pair = this.#skip("\\") && this.#skip("u") ? String.fromCharCode(unit, this.#readUnit()) : "";
    if ((pair.codePointAt(0) ?? 0) > 0xffff) return pair;
    throw this.#fail("a string has an escape for half of a surrogate pair", start);
  }

  /** A UTF-16 code unit in four hexadecimal digits. */
  #readUnit(): number {
    const start = this.#at;
    const digits = this.#read(4);
    if (/^[0-9A-Fa-f]{4}$/.test(digits)) return Number.parseInt(digits, 16);
    throw this.#fail("expected four hexadecimal digits", start);
  }

  /** RFC 8259 section 6. A digit after a leading zero is left over, and refused by what is read next. */
  #readNumber(): string {
    const start = this.#at;
    this.#skip("-");
    if (!this.#skip("0")) this.#skipDigits();
    if (this.#skip(".")) this.#skipDigits();
    if (this.#skip("e") || this.#skip("E")) {
      if (!this.#skip("+")) this.#skip("-");
      this.#skipDigits();
    }
    return this.#text.slice(start, this.#at);
  }

  #skipDigits(): void {
    if (this.#readWhile(isDigit) === "") throw this.#fail("expected a digit");
  }

  #readWord(): string {
    const start = this.#at;
    const word = this.#readWhile(isLowercaseLetter);
    if (words.has(word)) return word;
    throw this.#fail("expected true, false or null", start);
  }

  /** The next character; empty at the end. */
  get #next(): string {
    return this.#text[this.#at] ?? "";
  }

  /** Reads over this one character if it is next. */
  #skip(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  /** Reads over white space, then over this one character if it is next. */
  #take(character: string): boolean {
    this.#readWhile(isSpace);
    return this.#skip(character);
  }

  /** Reads this many characters, or what is left. */
  #read(length: number): string {
    const start = this.#at;
    this.#at = Math.min(start + length, this.#text.length);
    return this.#text.slice(start, this.#at);
  }

  #readWhile(isWanted: (unit: number) => boolean): string {
    const start = this.#at;
    while (this.#at < this.#text.length && isWanted(this.#text.charCodeAt(this.#at))) this.#at += 1;
    return this.#text.slice(start, this.#at);
  }

  #fail(what: string, at = this.#at): ProxyError {
    const end = at < this.#text.length ? "" : ", where the body ends";
    return refuse(`The body is not JSON: ${what} at character ${this.characterAt(at)}${end}`);
  }
}

/**
 * Decodes a body as JSON travels: UTF-8 without a byte order mark (RFC 8259 section 8.1). Nothing is replaced: the text
 * encodes to the very bytes that came in, so it has no lone surrogate.
 */
function decodeUtf8(body: Uint8Array): string {
  if (isUtf16(body)) throw refuse("The body looks like UTF-16; send it as UTF-8");
  const text = decode(body);
  if (text === undefined) throw refuse(`The body is not valid UTF-8: see byte ${findBadByte(body)}`);
  if (text.startsWith(byteOrderMark)) throw refuse("The body starts with a byte order mark; send it without one");
  return text;
}

function decode(body: Uint8Array): string | undefined {
  try {
    // ignoreBOM keeps the mark, so that it is seen.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return undefined;
  }
}

/** Either byte order mark, or a NUL where JSON has its first two characters. */
function isUtf16([first, second]: Uint8Array): boolean {
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
