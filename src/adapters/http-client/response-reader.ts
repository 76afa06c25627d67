import { ChunkDecoder, type ChunkFault } from "../../http/chunk-decoder.ts";
import { isFieldText, readFieldLine } from "../../http/field-line.ts";
import { heldBesideBytes } from "../../http/headers.ts";
import { HeadTooLong, MalformedResponse } from "./transport-error.ts";

/** One final or interim head, its status line and line ends included, if nothing else is configured. */
const usualHeadBytes = 16_384;
/** So many lines fit into the usual length. */
const mostHeaderLines = usualHeadBytes / 4;
/** All interim responses and empty lines before one final response; a hundred interim responses are a few KiB. */
const longestInterimBytes = 65_536;

/**
 * How long an idle connection is kept if the server gives no hint: most servers close theirs after 5 s and more. So a
 * request rarely uses a connection that is about to close.
 */
const keepAliveMs = 4_000;
const longestKeepAliveMs = 60_000;
/** A server's own Keep-Alive hint is shortened by this much. */
const keepAliveMarginMs = 1_000;

const carriageReturn = 0x0d;
const lineFeed = 0x0a;

/** The start of a status line: up to its code and the next character. */
const statusLineStartBytes = 13;
const statusLineStart = /^HTTP\/1\.[01] [1-9][0-9]{2}[ \r]$/;
const example = "HTTP/1.1 200 ";

/** What ends the body (RFC 9112 section 6.3). */
type Framing = "length" | "chunks" | "close";

/**
 * Reads responses in HTTP/1.1 from bytes, however they are cut into pieces: one response for each `begin`. It knows no
 * sockets. It accepts what RFC 9112 lets a server send, and refuses the rest at the first wrong line, the status line at
 * its first wrong byte:
 *
 * - interim responses and empty lines before the final response are skipped, within bounds; 101 is refused;
 * - lines end by CRLF; names are tokens; values have no control characters; there is no folding;
 * - one Content-Length at most, in digits, and none beside a Transfer-Encoding, whatever the status (RFC 9110 section 8.6);
 * - a 204 or 304 has no body, whatever it announces (RFC 9110 sections 15.3.5 and 15.4.5), nor has a response to HEAD;
 * - a Transfer-Encoding whose last coding is not chunked, and no framing at all, mean a body until the close.
 */
export class ResponseReader {
  /** The final response's status, once its head is complete. */
  status = 0;
  headers: string[] = [];
  phase: "head" | "body" | "complete" = "complete";
  /** The memory that the present head takes. */
  heldBytes = 0;
  /** How long the connection may be idle before the next request; 0 if this response is its last. */
  idleMs = keepAliveMs;
  readonly #longestHeadBytes: number;
  #framing: Framing = "close";
  #remainingBytes = 0;
  #chunks = new ChunkDecoder(malformedChunks);
  /** The received part of an incomplete head; it is parsed up to `#lineStart`. */
  #text = "";
  #lineStart = 0;
  #hasStatus = false;
  #isHttp10 = false;
  #skippedBytes = 0;
  #isConnect = false;
  #isHead = false;

  /** @param longestHeadBytes of one final or interim head */
  constructor(longestHeadBytes = usualHeadBytes) {
    this.#longestHeadBytes = longestHeadBytes;
  }

  /**
   * A request is being written: the next bytes begin a response. What follows the head of a response to CONNECT is no body,
   * whatever the head announces: it comes through the tunnel. Nothing follows one to HEAD (RFC 9112 section 6.3).
   */
  begin(method?: string): void {
    this.#isConnect = method === "CONNECT";
    this.#isHead = method === "HEAD";
    this.phase = "head";
    this.#text = "";
    this.#lineStart = 0;
    this.#skippedBytes = 0;
    this.#beginHead();
  }

  /**
   * Reads the next bytes. Bytes behind the response are ignored, and make it the last of its connection.
   * @param bytes a buffer whose first `length` bytes are read, and may be overwritten
   * @returns the bytes of the body among them, in a buffer of their own; undefined if there are none
   * @throws MalformedResponse
   */
  read(bytes: Buffer, length: number): Buffer | undefined {
    const start = this.phase === "head" ? this.#readHead(bytes, length) : 0;
    if (this.phase !== "body") {
      if (start < length) this.idleMs = 0;
      return undefined;
    }
    switch (this.#framing) {
      case "length": {
        const end = Math.min(start + this.#remainingBytes, length);
        this.#remainingBytes -= end - start;
        if (this.#remainingBytes === 0) this.#complete(end, length);
        return copy(bytes, start, end);
      }
      case "chunks": {
        let to = start;
        // The buffer is read into again: pieces are moved together in it, and then copied out at once.
        const end = this.#chunks.read(bytes, start, length, (from, until) => {
          bytes.copyWithin(to, from, until);
          to += until - from;
        });
        if (this.#chunks.isComplete) this.#complete(end, length);
        return copy(bytes, start, to);
      }
      case "close":
        return copy(bytes, start, length);
    }
  }

  /** The server has closed its side in an orderly way. @returns whether that completes the response */
  finish(): boolean {
    const isWhole = this.phase === "body" && this.#framing === "close";
    if (isWhole) this.#complete(0, 0);
    this.idleMs = 0;
    return isWhole;
  }

  /** @returns how many of these bytes belong to the head; `length` while the head is incomplete */
  #readHead(bytes: Buffer, length: number): number {
    const earlier = this.#text.length;
    const text = this.#text + bytes.toString("latin1", 0, length);
    let headStart = 0;
    for (let searchFrom = Math.max(this.#lineStart, earlier - 1); ; searchFrom = this.#lineStart) {
      if (!this.#hasStatus) {
        headStart = this.#skipEmptyLines(text);
        searchFrom = Math.max(searchFrom, headStart);
      }
      const lineEnd = text.indexOf("\r\n", searchFrom);
      if ((lineEnd === -1 ? text.length : lineEnd + 2) - headStart > this.#longestHeadBytes) throw new HeadTooLong();
      if (!this.#hasStatus) this.#readStatusLine(text, lineEnd);
      else if (lineEnd === this.#lineStart) {
        const headEnd = lineEnd + 2;
        this.heldBytes = headEnd - headStart + heldBesideBytes(this.headers);
        this.#endHead();
        if (this.status >= 200) return headEnd - earlier;
        this.#skip(headEnd - headStart);
        this.#beginHead();
      } else if (lineEnd !== -1 && !readFieldLine(text, this.#lineStart, lineEnd, this.headers)) {
        throw new MalformedResponse(this.status < 200 ? "INTERIM_RESPONSE_MALFORMED" : "HEADER_LINE_MALFORMED");
      } else if (this.headers.length > 2 * mostHeaderLines) throw new HeadTooLong();
      if (lineEnd === -1) break;
      this.#lineStart = lineEnd + 2;
    }
    this.#text = text.slice(headStart);
    this.#lineStart -= headStart;
    this.heldBytes = this.#text.length + heldBesideBytes(this.headers);
    return length;
  }

  #beginHead(): void {
    this.status = 0;
    this.headers = [];
    this.#hasStatus = false;
  }

  /** Most clients accept a service that ends its bodies with one line end too many. @returns where the status line begins */
  #skipEmptyLines(text: string): number {
    let at = this.#lineStart;
    while (text.charCodeAt(at) === carriageReturn || text.charCodeAt(at) === lineFeed) at += 1;
    this.#skip(at - this.#lineStart);
    this.#lineStart = at;
    return at;
  }

  #skip(length: number): void {
    this.#skippedBytes += length;
    if (this.#skippedBytes > longestInterimBytes) throw new MalformedResponse("INTERIM_RESPONSES_TOO_LONG");
  }

  /** @param lineEnd -1 while the line is not complete; then only its beginning is checked */
  #readStatusLine(text: string, lineEnd: number): void {
    const start = text.slice(this.#lineStart, this.#lineStart + statusLineStartBytes);
    checkStatusLine(start);
    if (start.startsWith("101", 9)) throw new MalformedResponse("UPGRADE_NOT_ASKED_FOR");
    if (lineEnd === -1) return;
    if (!isFieldText(text, this.#lineStart + statusLineStartBytes - 1, lineEnd)) {
      throw new MalformedResponse("NOT_HTTP_1_1");
    }
    this.status = Number(start.slice(9, 12));
    this.#isHttp10 = start.charCodeAt(7) === 0x30;
    this.#hasStatus = true;
  }

  /** Decides where the body ends, and whether the connection stays open. */
  #endHead(): void {
    if (this.status >= 200) this.phase = "body";
    this.#framing = "close";
    if (this.#isConnect) return;
    let lengths = 0;
    let length = "";
    let codings: string | undefined;
    this.idleMs = this.#isHttp10 ? 0 : keepAliveMs;
    const { headers } = this;
    for (let at = 0; at + 1 < headers.length; at += 2) {
      const name = headers[at] ?? "";
      const value = headers[at + 1] ?? "";
      // The length of a name excludes most headers.
      if (name.length === 14 && name.toLowerCase() === "content-length") {
        lengths += 1;
        length = value;
      } else if (name.length === 17 && name.toLowerCase() === "transfer-encoding") {
        codings = codings === undefined ? value : `${codings},${value}`;
      } else if (name.length === 10) this.#readPersistence(name.toLowerCase(), value);
    }
    if (lengths > 0 && codings !== undefined) throw new MalformedResponse("LENGTH_AND_TRANSFER_ENCODING");
    if (lengths > 1) throw new MalformedResponse("CONTENT_LENGTH_REPEATED");
    if (lengths === 1 && !/^[0-9]{1,15}$/.test(length)) throw new MalformedResponse("CONTENT_LENGTH_MALFORMED");
    if (this.status < 200) return;
    if (this.#isHead || this.status === 204 || this.status === 304) this.#setLength(0);
    else if (lengths === 1) this.#setLength(Number(length));
    else if (codings !== undefined && /(?:^|,)[ \t]*chunked$/i.test(codings)) {
      this.#framing = "chunks";
      this.#chunks = new ChunkDecoder(malformedChunks);
    }
  }

  #readPersistence(name: string, value: string): void {
    if (name === "connection") {
      if (value !== "keep-alive" && /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(value)) this.idleMs = 0;
    } else if (name === "keep-alive" && this.idleMs > 0) {
      const [, seconds] = /timeout=(\d{1,9})/.exec(value) ?? [];
      if (seconds === undefined) return;
      this.idleMs = Math.max(0, Math.min(Number(seconds) * 1_000 - keepAliveMarginMs, longestKeepAliveMs));
    }
  }

  #setLength(bytes: number): void {
    this.#framing = "length";
    this.#remainingBytes = bytes;
    if (bytes === 0) this.phase = "complete";
  }

  /** @param end where the response ends in the bytes just read */
  #complete(end: number, length: number): void {
    this.phase = "complete";
    if (end < length) this.idleMs = 0;
  }
}

const chunkFaults: Readonly<Record<ChunkFault, string>> = {
  malformed: "CHUNK_MALFORMED",
  "line feed alone": "CHUNK_MALFORMED",
  "size too long": "CHUNK_TOO_LONG",
  "extensions too long": "CHUNK_EXTENSIONS_TOO_LONG",
  "malformed trailer": "TRAILER_MALFORMED",
  "trailers too long": "TRAILERS_TOO_LONG",
};

function malformedChunks(fault: ChunkFault): MalformedResponse {
  return new MalformedResponse(chunkFaults[fault]);
}

function copy(bytes: Buffer, start: number, end: number): Buffer | undefined {
  if (start === end) return undefined;
  const own = Buffer.allocUnsafe(end - start);
  bytes.copy(own, 0, start, end);
  return own;
}

/**
 * Checks the start of a status line. An example fills up what is missing, so the first wrong byte is refused.
 * @throws MalformedResponse
 */
function checkStatusLine(start: string): void {
  if (!statusLineStart.test(start + example.slice(start.length))) throw new MalformedResponse("NOT_HTTP_1_1");
}
