import { isFieldText, readFieldLine } from "./field-line.ts";
import { MalformedResponse } from "./transport-error.ts";

/** 13 hexadecimal digits are less than 2^52: numbers stay exact. */
const mostSizeDigits = 13;
/** All chunk extensions of one body. They mean nothing to us. */
const longestExtensionsBytes = 16_384;
const longestTrailersBytes = 16_384;

const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const semicolon = 0x3b;

type State = "size" | "extension" | "size_lf" | "data" | "data_cr" | "data_lf" | "trailers" | "complete";

/** Decodes one chunked body after the other (RFC 9112 section 7.1), strictly. Extensions and trailers are dropped. */
export class ChunkDecoder {
  #state: State = "size";
  #size = 0;
  #sizeDigits = 0;
  #extensionsBytes = 0;
  /** Trailer lines that have come, and an incomplete one. */
  #trailers = "";
  #lineStart = 0;
  /** Where the last call stopped: behind the body, where it is complete. */
  position = 0;

  get isComplete(): boolean {
    return this.#state === "complete";
  }

  begin(): void {
    this.#state = "size";
    this.#size = 0;
    this.#sizeDigits = 0;
    this.#extensionsBytes = 0;
    this.#trailers = "";
    this.#lineStart = 0;
  }

  /**
   * Moves the data to `start`, within the same buffer.
   * @returns where the data ends
   * @throws MalformedResponse
   */
  decode(bytes: Buffer, start: number, end: number): number {
    let to = start;
    let at = start;
    while (at < end && this.#state !== "complete") {
      if (this.#state === "data") {
        const length = Math.min(end - at, this.#size);
        bytes.copyWithin(to, at, at + length);
        to += length;
        at += length;
        this.#size -= length;
        if (this.#size === 0) this.#state = "data_cr";
      } else if (this.#state === "trailers") {
        at = this.#takeTrailers(bytes, at, end);
      } else {
        this.#takeByte(bytes[at] ?? 0);
        at += 1;
      }
    }
    this.position = at;
    return to;
  }

  #takeByte(byte: number): void {
    switch (this.#state) {
      case "size":
        this.#takeSize(byte);
        return;
      case "extension":
        if (byte === carriageReturn) this.#state = "size_lf";
        else this.#takeExtension(byte);
        return;
      case "size_lf":
        expect(byte, lineFeed);
        this.#state = this.#size === 0 ? "trailers" : "data";
        return;
      case "data_cr":
        expect(byte, carriageReturn);
        this.#state = "data_lf";
        return;
      case "data_lf":
        expect(byte, lineFeed);
        this.#state = "size";
        this.#sizeDigits = 0;
    }
  }

  #takeSize(byte: number): void {
    const digit = hexValue(byte);
    if (digit !== -1) {
      this.#sizeDigits += 1;
      if (this.#sizeDigits > mostSizeDigits) throw new MalformedResponse("CHUNK_TOO_LONG");
      this.#size = this.#size * 16 + digit;
      return;
    }
    if (this.#sizeDigits === 0) throw new MalformedResponse("CHUNK_MALFORMED");
    if (byte === carriageReturn) this.#state = "size_lf";
    else if (byte === semicolon) this.#state = "extension";
    else throw new MalformedResponse("CHUNK_MALFORMED");
  }

  #takeExtension(byte: number): void {
    this.#extensionsBytes += 1;
    if (this.#extensionsBytes > longestExtensionsBytes) throw new MalformedResponse("CHUNK_EXTENSIONS_TOO_LONG");
    if (!isFieldText(String.fromCharCode(byte), 0, 1)) throw new MalformedResponse("CHUNK_MALFORMED");
  }

  /** @returns where the trailers end, or `end` */
  #takeTrailers(bytes: Buffer, start: number, end: number): number {
    const earlier = this.#trailers.length;
    const text = this.#trailers + bytes.toString("latin1", start, end);
    for (let searchFrom = Math.max(this.#lineStart, earlier - 1); ; searchFrom = this.#lineStart) {
      const lineEnd = text.indexOf("\r\n", searchFrom);
      if ((lineEnd === -1 ? text.length : lineEnd) > longestTrailersBytes)
        throw new MalformedResponse("TRAILERS_TOO_LONG");
      if (lineEnd === -1) break;
      if (lineEnd === this.#lineStart) {
        this.#state = "complete";
        return start + lineEnd + 2 - earlier;
      }
      if (!readFieldLine(text, this.#lineStart, lineEnd, [])) throw new MalformedResponse("TRAILER_MALFORMED");
      this.#lineStart = lineEnd + 2;
    }
    this.#trailers = text;
    return end;
  }
}

function expect(byte: number, wanted: number): void {
  if (byte !== wanted) throw new MalformedResponse("CHUNK_MALFORMED");
}

/** -1 for what is no hexadecimal digit. */
function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
