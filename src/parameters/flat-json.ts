import { ProxyError } from "../model/errors.ts";

/** The kinds of JSON values (RFC 8259 section 3). */
export type Kind = "string" | "number" | "boolean" | "null" | "object" | "array";

/** One `"name": value`, and the indexes at which name and value begin; the text of a nested value is not kept. */
export interface Member {
  readonly name: string;
  readonly nameAt: number;
  readonly kind: Kind;
  /** A string unescaped; a number or a word as written; empty for an object or an array. */
  readonly value: string;
  /** Whether the value surely needs no escape in a JSON string; false for each string that is written with escapes. */
  readonly isPlain: boolean;
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

const words: ReadonlySet<string> = new Set(["true", "false", "null"]);
const escapable: ReadonlySet<string> = new Set('"\\/bfnrt');
const fourHexadecimalDigits = /^[0-9A-Fa-f]{4}$/;
const deepest = 64;

/** UTF-16 code units. */
const space = 0x20;
const quote = 0x22;
const plus = 0x2b;
const comma = 0x2c;
const minus = 0x2d;
const point = 0x2e;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const upperE = 0x45;
const openingBracket = 0x5b;
const backslash = 0x5c;
const closingBracket = 0x5d;
const lowerA = 0x61;
const lowerE = 0x65;
const lowerU = 0x75;
const lowerZ = 0x7a;
const openingBrace = 0x7b;
const closingBrace = 0x7d;
/** In place of a code unit at the end of the text. */
const end = -1;

const isSpace = (unit: number) => unit === space || unit === 0x09 || unit === 0x0a || unit === 0x0d;
const isDigit = (unit: number) => unit >= zero && unit <= nine;
const isLowercaseLetter = (unit: number) => unit >= lowerA && unit <= lowerZ;

/**
 * Reads a JSON object in one pass. `JSON.parse` cannot decide what is signed: it lets the last of two equal names win,
 * reorders names that look like integers and changes numbers.
 */
export class FlatJson {
  readonly #text: string;
  /** Index of the next code unit. */
  #at = 0;
  #hasMembers = false;

  /** @throws ProxyError body_not_json if the text does not begin with an object */
  constructor(text: string) {
    this.#text = text;
    const kind = this.#kindAhead();
    if (kind !== "object") throw refuseText(`The body is ${kindInWords[kind]}, not a JSON object`, kindInWords[kind]);
    this.#at += 1;
  }

  /** The number of the character (code point) at an index, counted from 1. */
  characterAt(index: number): number {
    return this.#text.slice(0, index).replace(/[\uDC00-\uDFFF]/g, "").length + 1;
  }

  /**
   * Reads the next member of the object.
   * @returns undefined after the last member, if nothing follows the object
   * @throws ProxyError body_not_json
   */
  readMember(): Member | undefined {
    if (this.#hasMembers ? this.#take(comma) : !this.#take(closingBrace)) return this.#readNameAndValue();
    if (this.#hasMembers && !this.#take(closingBrace)) throw this.#fail('expected "," or "}"');
    this.#skipSpace();
    if (this.#next() !== end) throw this.#fail("expected nothing after the object");
    return undefined;
  }

  #readNameAndValue(): Member {
    this.#hasMembers = true;
    this.#skipSpace();
    const nameAt = this.#at;
    const name = this.#readName();
    const kind = this.#kindAhead();
    const valueAt = this.#at;
    if (kind === "object" || kind === "array") {
      this.#skipNested();
      return { name, nameAt, kind, value: "", isPlain: true, valueAt };
    }
    const value = this.#readScalar(kind);
    // Between its quotes a string without an escape is as long as its value.
    const isPlain = kind !== "string" || this.#at - valueAt === value.length + 2;
    return { name, nameAt, kind, value, isPlain, valueAt };
  }

  /** Skips white space and returns the kind of the value that begins there. */
  #kindAhead(): Kind {
    this.#skipSpace();
    const kind = kindOf(this.#next());
    if (kind === undefined) throw this.#fail("expected a string, a number, true or false");
    return kind;
  }

  /** Reads a member's name, unescaped, and its colon. */
  #readName(): string {
    this.#skipSpace();
    if (this.#next() !== quote) throw this.#fail("expected a name in double quotes");
    const name = this.#readString();
    if (!this.#take(colon)) throw this.#fail('expected ":"');
    return name;
  }

  /** Reads a value that is neither object nor array: a string unescaped, the others as they are written. */
  #readScalar(kind: Kind): string {
    if (kind === "string") return this.#readString();
    return kind === "number" ? this.#readNumber() : this.#readWord();
  }

  /**
   * Skips an object or array, and checks its syntax. The closing brackets that are still missing are the only
   * state; RFC 8259 section 9 allows a limit for their number. So deep nesting uses neither stack nor memory.
   */
  #skipNested(): void {
    const closers: number[] = [];
    do {
      const kind = this.#kindAhead();
      if (kind === "object" || kind === "array") {
        this.#at += 1;
        const closer = kind === "object" ? closingBrace : closingBracket;
        if (closers.push(closer) > deepest) throw this.#fail(`a value is nested deeper than ${deepest} levels`);
        if (!this.#take(closer)) {
          if (kind === "object") this.#readName();
          continue;
        }
        closers.pop();
      } else this.#readScalar(kind);
      let open = closers.at(-1);
      for (; open !== undefined && this.#take(open); open = closers.at(-1)) closers.pop();
      if (open === undefined) return;
      if (!this.#take(comma)) throw this.#fail(`expected "," or "${String.fromCharCode(open)}"`);
      if (open === closingBrace) this.#readName();
    } while (closers.length > 0);
  }

  /** Reads the string whose opening quote is next, and unescapes it (RFC 8259 section 7). */
  #readString(): string {
    const start = this.#at;
    this.#at += 1;
    this.#skipPlain();
    if (this.#skip(quote)) return this.#text.slice(start + 1, this.#at - 1);
    while (!this.#skip(quote)) {
      this.#skipEscape();
      this.#skipPlain();
    }
    // The text is checked by now. JSON.parse makes one string of it, not a chain of pieces.
    return JSON.parse(this.#text.slice(start, this.#at));
  }

  /** Skips the characters of a string that are no escapes, up to a quote or a backslash. */
  #skipPlain(): void {
    const text = this.#text;
    let at = this.#at;
    let unit = end;
    for (; at < text.length; at += 1) {
      unit = text.charCodeAt(at);
      if (unit === quote || unit === backslash || unit < space) break;
    }
    this.#at = at;
    if (at === text.length) throw this.#fail("a string is not closed");
    if (unit < space) throw this.#fail("a string has a control character that is not escaped");
  }

  /** A lone surrogate is refused: it has no UTF-8 form, so it cannot be signed. */
  #skipEscape(): void {
    const start = this.#at;
    this.#at += 1;
    if (!this.#skip(lowerU)) {
      if (!escapable.has(this.#text.charAt(this.#at)))
        throw this.#fail("a string has a backslash that begins no escape", start);
      this.#at += 1;
      return;
    }
    const unit = this.#readUnit();
    if (unit < 0xd800 || unit > 0xdfff) return;
    const second = this.#skip(backslash) && this.#skip(lowerU) ? this.#readUnit() : end;
    if (unit < 0xdc00 && second >= 0xdc00 && second <= 0xdfff) return;
    throw this.#fail("a string has an escape for half of a surrogate pair", start);
  }

  /** A UTF-16 code unit in four hexadecimal digits. */
  #readUnit(): number {
    const digits = this.#text.slice(this.#at, this.#at + 4);
    if (!fourHexadecimalDigits.test(digits)) throw this.#fail("expected four hexadecimal digits");
    this.#at += 4;
    return Number.parseInt(digits, 16);
  }

  /** RFC 8259 section 6. A digit after a leading zero is not read here, and the next read refuses it. */
  #readNumber(): string {
    const start = this.#at;
    this.#skip(minus);
    if (!this.#skip(zero)) this.#skipDigits();
    if (this.#skip(point)) this.#skipDigits();
    if (this.#skip(lowerE) || this.#skip(upperE)) {
      if (!this.#skip(plus)) this.#skip(minus);
      this.#skipDigits();
    }
    return this.#text.slice(start, this.#at);
  }

  #skipDigits(): void {
    if (!isDigit(this.#next())) throw this.#fail("expected a digit");
    while (isDigit(this.#next())) this.#at += 1;
  }

  #readWord(): string {
    const start = this.#at;
    while (isLowercaseLetter(this.#next())) this.#at += 1;
    const word = this.#text.slice(start, this.#at);
    if (words.has(word)) return word;
    throw this.#fail("expected true, false or null", start);
  }

  /** The next code unit. */
  #next(): number {
    return this.#at < this.#text.length ? this.#text.charCodeAt(this.#at) : end;
  }

  #skipSpace(): void {
    while (isSpace(this.#next())) this.#at += 1;
  }

  /** Skips this code unit if it is next. */
  #skip(unit: number): boolean {
    if (this.#next() !== unit) return false;
    this.#at += 1;
    return true;
  }

  /** Skips white space, then this code unit if it is next. */
  #take(unit: number): boolean {
    this.#skipSpace();
    return this.#skip(unit);
  }

  #fail(what: string, at = this.#at): ProxyError {
    const ended = at < this.#text.length ? "" : ", where the body ends";
    const found = this.#text === "" ? "it is empty" : `${what} at character ${this.characterAt(at)}${ended}`;
    return refuseText(`The body is not JSON: ${found}`, found);
  }
}

/** The kind of value that begins with this code unit. */
function kindOf(unit: number): Kind | undefined {
  switch (unit) {
    case quote:
      return "string";
    case openingBrace:
      return "object";
    case openingBracket:
      return "array";
    case 0x74:
    case 0x66:
      return "boolean";
    case 0x6e:
      return "null";
    default:
      return unit === minus || isDigit(unit) ? "number" : undefined;
  }
}

/** @param causedBy nothing of the body */
export function refuseText(what: string, causedBy: string): ProxyError {
  return new ProxyError("body_not_json", `${what}.`, { causedBy });
}
