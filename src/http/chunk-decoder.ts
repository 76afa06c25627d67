import { isFieldByte, isTokenByte } from "./field-line.ts";

/** The hexadecimal digits of the largest size, which is the largest safe integer. */
const mostSizeDigits = 14;
/** A limit for all extensions of a body, and another for all its trailers, with their line ends. */
const longestBytes = 16_384;
/** Refused as trailers: they would change the body's framing (RFC 9110 section 6.5.1). */
const framingFields: ReadonlySet<string> = new Set(["content-length", "transfer-encoding"]);
const longestFramingField = "transfer-encoding".length;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const colon = 0x3a;
const semicolon = 0x3b;
const equals = 0x3d;
const backslash = 0x5c;

export type ChunkFault =
  | "malformed"
  | "line feed alone"
  | "size too long"
  | "extensions too long"
  | "malformed trailer"
  | "trailers too long";

/** The element that the next byte may begin or continue. */
type State =
  | "size"
  | ExtensionState
  | "size line feed"
  | "data"
  | "data carriage return"
  | "data line feed"
  | TrailerState
  | "nothing";
type TrailerState = "trailer start" | "trailer name" | "trailer value" | "trailer line feed" | "last line feed";
/** "value end" is also the state after a size. */
type ExtensionState = "name start" | "name" | "value start" | "value" | "quoted string" | "quoted pair" | "value end";

/**
 * Decodes one chunked body (RFC 9112 section 7.1), from bytes in pieces of any size. Extensions and trailers are checked,
 * limited and dropped; blanks around an extension are refused. Each byte is checked when it comes, and none is kept.
 */
export class ChunkDecoder {
  readonly #errorOf: (fault: ChunkFault) => Error;
  #state: State = "size";
  /** First the chunk's size, as far as it has been read; then the bytes of its data that are still missing. */
  #dataBytes = 0;
  #sizeDigits = 0;
  #extensionsBytes = 0;
  #trailersBytes = 0;
  /** The start of a trailer's name, long enough to recognise a framing field. */
  #trailerName = "";

  /** @param errorOf makes the error that is thrown for a fault */
  constructor(errorOf: (fault: ChunkFault) => Error) {
    this.#errorOf = errorOf;
  }

  get isComplete(): boolean {
    return this.#state === "nothing";
  }

  /**
   * @param to the end of the new bytes; the buffer may have old bytes after them
   * @param take gets each piece of data, by its start and end in `bytes`
   * @returns the index at which reading stopped: `to`, or the end of the body
   * @throws what `errorOf` returns
   */
  read(bytes: Buffer, from: number, to: number, take: (start: number, end: number) => void): number {
    let at = from;
    while (at < to && this.#state !== "nothing") {
      if (this.#state === "data") {
        const end = Math.min(to, at + this.#dataBytes);
        take(at, end);
        this.#dataBytes -= end - at;
        if (this.#dataBytes === 0) this.#state = "data carriage return";
        at = end;
      } else {
        this.#state = this.#readByte(this.#state, bytes[at] ?? 0);
        at += 1;
      }
    }
    return at;
  }

  /** @returns the next state */
  #readByte(state: Exclude<State, "data" | "nothing">, byte: number): State {
    switch (state) {
      case "size":
        return this.#readSize(byte) ?? this.#refuse(byte, "malformed");
      case "size line feed":
        if (byte !== lineFeed) return this.#refuse(byte, "malformed");
        this.#sizeDigits = 0;
        return this.#dataBytes === 0 ? "trailer start" : "data";
      case "data carriage return":
        return byte === carriageReturn ? "data line feed" : this.#refuse(byte, "malformed");
      case "data line feed":
        return byte === lineFeed ? "size" : this.#refuse(byte, "malformed");
      case "trailer start":
      case "trailer name":
      case "trailer value":
      case "trailer line feed":
      case "last line feed":
        this.#trailersBytes += 1;
        if (this.#trailersBytes > longestBytes) throw this.#errorOf("trailers too long");
        return this.#readTrailer(state, byte) ?? this.#refuse(byte, "malformed trailer");
      default:
        return this.#readExtension(state, byte) ?? this.#refuse(byte, "malformed");
    }
  }

  #readSize(byte: number): State | undefined {
    const digit = hexValue(byte);
    if (digit === -1) return this.#sizeDigits === 0 ? undefined : this.#readExtension("value end", byte);
    this.#sizeDigits += 1;
    this.#dataBytes = this.#dataBytes * 16 + digit;
    if (this.#sizeDigits > mostSizeDigits || this.#dataBytes > Number.MAX_SAFE_INTEGER) {
      throw this.#errorOf("size too long");
    }
    return "size";
  }

  #readExtension(state: ExtensionState, byte: number): State | undefined {
    if (byte !== carriageReturn) this.#extensionsBytes += 1;
    if (this.#extensionsBytes > longestBytes) throw this.#errorOf("extensions too long");
    return nextInExtension(state, byte);
  }

  /** A field line (RFC 9112 section 5), or the empty line that ends the body. */
  #readTrailer(state: TrailerState, byte: number): State | undefined {
    switch (state) {
      case "trailer start":
        if (byte === carriageReturn) return "last line feed";
        this.#trailerName = "";
        return this.#readTrailerName(byte);
      case "trailer name":
        if (byte !== colon) return this.#readTrailerName(byte);
        return framingFields.has(this.#trailerName.toLowerCase()) ? undefined : "trailer value";
      case "trailer value":
        if (byte === carriageReturn) return "trailer line feed";
        return isFieldByte[byte] === 1 ? "trailer value" : undefined;
      case "trailer line feed":
        return byte === lineFeed ? "trailer start" : undefined;
      case "last line feed":
        return byte === lineFeed ? "nothing" : undefined;
    }
  }

  #readTrailerName(byte: number): State | undefined {
    if (isTokenByte[byte] !== 1) return undefined;
    if (this.#trailerName.length <= longestFramingField) this.#trailerName += String.fromCharCode(byte);
    return "trailer name";
  }

  #refuse(byte: number, fault: ChunkFault): never {
    throw this.#errorOf(byte === lineFeed ? "line feed alone" : fault);
  }
}

/** `name`, `name=token` or `name="quoted string"` (RFC 9112 section 7.1.1). */
function nextInExtension(state: ExtensionState, byte: number): State | undefined {
  switch (state) {
    case "name start":
      return isTokenByte[byte] === 1 ? "name" : undefined;
    case "name":
      if (isTokenByte[byte] === 1) return "name";
      return byte === equals ? "value start" : endOfPart(byte);
    case "value start":
      if (byte === quote) return "quoted string";
      return isTokenByte[byte] === 1 ? "value" : undefined;
    case "value":
      return isTokenByte[byte] === 1 ? "value" : endOfPart(byte);
    case "quoted string":
      if (byte === quote) return "value end";
      if (byte === backslash) return "quoted pair";
      return isFieldByte[byte] === 1 ? "quoted string" : undefined;
    case "quoted pair":
      return isFieldByte[byte] === 1 ? "quoted string" : undefined;
    case "value end":
      return endOfPart(byte);
  }
}

/** The state after a byte that ends a size, a name or a value; undefined if the byte ends none of them. */
function endOfPart(byte: number): State | undefined {
  if (byte === carriageReturn) return "size line feed";
  return byte === semicolon ? "name start" : undefined;
}

/** The value of a hexadecimal digit; -1 for any other byte. */
function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
