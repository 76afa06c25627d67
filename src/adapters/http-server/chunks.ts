import { headTooLarge, malformed, readFieldLine } from "./field-lines.ts";

/** All extensions of a body; and all its trailers. */
const longestBytes = 16_384;
/** Token and quoted string (RFC 9110 sections 5.6.2 and 5.6.4). */
const token = /[!#$%&'*+\-.^_`|~\dA-Za-z]+/.source;
const quoted = /"(?:[\t -!#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"/.source;
/** RFC 9112 section 7.1, without blanks. Zeros apart, a size has no more digits than a safe integer. */
const sizeLine = new RegExp(`^0*([\\dA-Fa-f]{1,14})((?:;${token}(?:=(?:${token}|${quoted}))?)*)$`);
/** It would frame the body anew (RFC 9110 section 6.5.1). */
const framingFields: ReadonlySet<string> = new Set(["content-length", "transfer-encoding"]);

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

type Part = "size" | "data" | "end of data" | "trailers" | "nothing";

/**
 * Takes a body out of its chunks (RFC 9112 section 7.1), from bytes in pieces of any size. Extensions and trailers are
 * checked, bounded and dropped.
 */
export class ChunkReader {
  #part: Part = "size";
  /** What has come of a line that is not complete. */
  #line = "";
  #dataBytes = 0;
  #extensionBytes = 0;
  #trailerBytes = 0;

  get isComplete(): boolean {
    return this.#part === "nothing";
  }

  /**
   * @param take gets the data, piece by piece
   * @returns where it stopped: at the end of these bytes or of the body
   * @throws ProxyError malformed_request, headers_too_large
   */
  read(bytes: Buffer, from: number, take: (piece: Buffer) => void): number {
    let position = from;
    while (position < bytes.length && this.#part !== "nothing") {
      if (this.#part === "data") {
        const end = Math.min(bytes.length, position + this.#dataBytes);
        take(bytes.subarray(position, end));
        this.#dataBytes -= end - position;
        if (this.#dataBytes === 0) this.#part = "end of data";
        position = end;
      } else {
        position = this.#readLine(bytes, position);
      }
    }
    return position;
  }

  #readLine(bytes: Buffer, from: number): number {
    const feed = bytes.indexOf(lineFeed, from);
    const end = feed === -1 ? bytes.length : feed + 1;
    this.#line += bytes.toString("latin1", from, end);
    if (feed === -1) this.#checkBeginning();
    else {
      const line = this.#line;
      this.#line = "";
      if (line.length < 2 || line.charCodeAt(line.length - 2) !== carriageReturn) throw malformed("HPE_CR_EXPECTED");
      this.#take(line.slice(0, -2));
    }
    return end;
  }

  /** What no line can become is refused before it is complete: none may be held for long. */
  #checkBeginning(): void {
    const { length } = this.#line;
    if (this.#part === "end of data" && this.#line !== "\r") throw malformed("HPE_INVALID_CHUNK_SIZE");
    if (this.#part === "trailers" && this.#trailerBytes + length > longestBytes) throw headTooLarge();
    if (this.#part === "size" && length > longestBytes) throw malformed("HPE_CHUNK_EXTENSIONS_OVERFLOW");
  }

  #take(line: string): void {
    if (this.#part === "size") this.#takeSize(line);
    else if (this.#part === "trailers") this.#takeTrailer(line);
    else if (line === "") this.#part = "size";
    else throw malformed("HPE_INVALID_CHUNK_SIZE");
  }

  #takeSize(line: string): void {
    if (line.length > longestBytes) throw malformed("HPE_CHUNK_EXTENSIONS_OVERFLOW");
    const [, digits, extension = ""] = sizeLine.exec(line) ?? [];
    if (digits === undefined) throw malformed("HPE_INVALID_CHUNK_SIZE");
    this.#extensionBytes += extension.length;
    if (this.#extensionBytes > longestBytes) throw malformed("HPE_CHUNK_EXTENSIONS_OVERFLOW");
    this.#dataBytes = Number.parseInt(digits, 16);
    if (this.#dataBytes > Number.MAX_SAFE_INTEGER) throw malformed("HPE_INVALID_CHUNK_SIZE");
    this.#part = this.#dataBytes === 0 ? "trailers" : "data";
  }

  #takeTrailer(line: string): void {
    this.#trailerBytes += line.length + 2;
    if (this.#trailerBytes > longestBytes) throw headTooLarge();
    if (line === "") {
      this.#part = "nothing";
      return;
    }
    const [name = ""] = readFieldLine(line, 0, line.length, []);
    if (framingFields.has(name.toLowerCase())) throw malformed("HPE_INVALID_HEADER_TOKEN");
  }
}
