import { ProxyError } from "../model/errors.ts";

/**
 * A place in a JSON text. It only moves forward, so whatever is read with it is read in one pass. `JSON.parse` cannot
 * decide what is signed: it lets the last of two equal names win, reorders names that look like integers and changes
 * numbers.
 */
export class JsonCursor {
  readonly #text: string;
  #at = 0;

  /** @param text well-formed, without lone surrogates */
  constructor(text: string) {
    this.#text = text;
  }

  /** Index of the next character, for `fail` and `characterAt`. */
  get at(): number {
    return this.#at;
  }

  /** The next character; empty at the end. */
  get next(): string {
    return this.#text[this.#at] ?? "";
  }

  /** Reads over white space (RFC 8259 section 2). */
  skipSpace(): void {
    this.#skipWhile(isSpace);
  }

  /** Reads over this one character if it is next. */
  skip(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  /** Reads over white space, then over this one character if it is next. */
  take(character: string): boolean {
    this.skipSpace();
    return this.skip(character);
  }

  /** Reads this many characters, or what is left. */
  read(length: number): string {
    const start = this.#at;
    this.#at = Math.min(start + length, this.#text.length);
    return this.textSince(start);
  }

  /** Reads as long as the UTF-16 code units are wanted; never past the end. */
  readWhile(isWanted: (unit: number) => boolean): string {
    const start = this.#at;
    this.#skipWhile(isWanted);
    return this.textSince(start);
  }

  /** What was read since the cursor was there. */
  textSince(start: number): string {
    return this.#text.slice(start, this.#at);
  }

  /** The number of a character (code point), counted from 1. */
  characterAt(at: number): number {
    return this.#text.slice(0, at).replace(/[\uDC00-\uDFFF]/g, "").length + 1;
  }

  /** The refusal of this text, body_not_json; to be thrown. */
  fail(what: string, at = this.#at): ProxyError {
    const end = at < this.#text.length ? "" : ", where the body ends";
    return new ProxyError("body_not_json", `The body is not JSON: ${what} at character ${this.characterAt(at)}${end}.`);
  }

  #skipWhile(isWanted: (unit: number) => boolean): void {
    while (this.#at < this.#text.length && isWanted(this.#text.charCodeAt(this.#at))) this.#at += 1;
  }
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x09 || unit === 0x0a || unit === 0x0d;
}
