import type { ChunkFault } from "../../http/chunk-decoder.ts";
import { readFieldLine } from "../../http/field-line.ts";
import {
  asksForWebSocket,
  connectionOptions,
  firstOf,
  type HeaderLines,
  heldBesideBytes,
  transferCodings,
  valuesOf,
} from "../../http/headers.ts";
import { ProxyError } from "../../model/errors.ts";

/** Request line and header section together. */
const longestHeadBytes = 16_384;
const mostHeaderLines = 100;
const emptyLine = Buffer.from("\r\n\r\n");
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** The methods that Node's own parser accepts in HTTP. */
const methods =
  "ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY OPTIONS PATCH POST PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE".split(
    " ",
  );
/** RFC 9112 section 3; several blanks may separate its words. */
const requestLine = /^([A-Z-]+) +([^ ]+) +HTTP\/(0\.9|1\.[01]|2\.0)$/;
/** Origin-form, asterisk-form and absolute-form (RFC 9112 section 3.2), and similar targets, which the handler judges. */
const targetForm = /^(?:[/*][!-~]*|[A-Za-z]+:\/\/[!$-.0-;=A-[\]_a-z~]*(?:@[!$-.0-;=A-[\]_a-z~]*)?(?:[/?][!-~]*)?)$/;
/** The target of CONNECT. */
const authorityForm = /^(?=.)[!$-.0-;=A-[\]_a-z~]*(?:@[!$-.0-;=A-[\]_a-z~]*)?$/;
/** No more digits than 63 bits have, besides leading zeros. A longer body is too large in any case. */
const contentLength = /^0*(\d{1,19})$/;

/** A request's head (RFC 9112 sections 3, 5 and 6). */
export class RequestHead {
  readonly method: string;
  readonly target: string;
  /** Such as `1.1`; the listener decides which versions are served. */
  readonly version: string;
  readonly headers: HeaderLines;
  readonly isChunked: boolean;
  /** Its Content-Length; 0 if it has none. */
  readonly bodyBytes: number;
  /** The caller sends nothing behind it (RFC 9112 section 9.3). */
  readonly closes: boolean;
  /** The memory that it takes. */
  readonly heldBytes: number;

  /**
   * @param bytes the length of the head
   * @throws ProxyError malformed_request if its framing could be read in two ways
   */
  constructor(method: string, target: string, version: string, headers: HeaderLines, bytes: number) {
    this.method = method;
    this.target = target;
    this.version = version;
    this.headers = headers;
    this.heldBytes = bytes + heldBesideBytes(headers);
    const isChunked = readTransferEncoding(headers);
    const bodyBytes = readContentLength(headers, isChunked);
    // What follows a CONNECT is no body (RFC 9110 section 9.3.6).
    const hasBody = method !== "CONNECT";
    this.isChunked = hasBody && isChunked;
    this.bodyBytes = hasBody ? bodyBytes : 0;
    const options = connectionOptions(headers);
    // A transfer coding is faulty framing in HTTP/1.0 (RFC 9112 section 6.1).
    this.closes = version === "1.1" ? options.includes("close") : !options.includes("keep-alive") || this.isChunked;
  }

  /**
   * What follows may be another protocol: behind a CONNECT (RFC 9110 section 9.3.6), or from a caller that asks for WebSocket. Any
   * other Upgrade is ignored (section 7.8).
   */
  get leavesHttp(): boolean {
    return this.method === "CONNECT" || asksForWebSocket(this.headers);
  }

  /** Whether the caller may wait for 100 Continue before it sends the body; not in HTTP/1.0 (RFC 9110 section 10.1.1). */
  get expects(): boolean {
    return this.version === "1.1" && firstOf(this.headers, "expect") !== undefined;
  }
}

/**
 * Reads the heads of a connection's requests, one after the other, from bytes in pieces of any size. It accepts what RFC 9112
 * allows and nothing else. Any other line is refused as soon as it is complete, and so is the 101st header line.
 */
export class HeadReader {
  /** Where the last `read` stopped. */
  position = 0;
  /** Whether the head that is being read is a HEAD's: its response has no body, though it may be refused. */
  isHead = false;
  /** The received part of an incomplete line. */
  #rest = "";
  /** The length of the complete lines. */
  #bytes = 0;
  #requestLine: RegExpExecArray | undefined;
  #headers: string[] = [];

  /** Whether an incomplete head has begun. */
  get hasBegun(): boolean {
    return this.#requestLine !== undefined || (this.#rest !== "" && this.#rest !== "\r");
  }

  /** The memory that an incomplete head takes. */
  get heldBytes(): number {
    return this.#bytes + this.#rest.length + heldBesideBytes(this.#headers);
  }

  /**
   * @returns the head, once it is complete; `position` is then behind it
   * @throws ProxyError malformed_request, headers_too_large
   */
  read(bytes: Buffer, from: number): RequestHead | undefined {
    const first = this.#requestLine === undefined && this.#rest === "" ? skipEmptyLines(bytes, from) : from;
    const earlier = this.#rest.length;
    const end = bytes.indexOf(emptyLine, first);
    const most = first + longestHeadBytes - this.#bytes - earlier;
    const until = Math.min(end === -1 ? bytes.length : end + emptyLine.length, most);
    const text = this.#rest + bytes.toString("latin1", first, until);
    let start = 0;
    for (let feed = text.indexOf("\n"); feed !== -1; feed = text.indexOf("\n", start)) {
      if (feed === start || text.charCodeAt(feed - 1) !== carriageReturn) {
        this.#checkBeginning(text.slice(start, feed));
        throw malformed("HPE_CR_EXPECTED");
      }
      const isEnd = this.#readLine(text, start, feed - 1);
      start = feed + 1;
      if (!isEnd) continue;
      this.position = first + start - earlier;
      return this.#complete(this.#bytes + start);
    }
    this.#bytes += start;
    this.#rest = text.slice(start);
    this.#checkBeginning(this.#rest);
    if (this.#bytes + this.#rest.length >= longestHeadBytes) throw headTooLarge();
    this.position = until;
    return until < bytes.length ? this.read(bytes, until) : undefined;
  }

  /** @returns whether it is the empty line behind a header section */
  #readLine(text: string, start: number, end: number): boolean {
    if (start === end) return this.#requestLine !== undefined;
    if (this.#requestLine === undefined) {
      const line = text.slice(start, end);
      this.isHead = line.startsWith("HEAD ");
      this.#requestLine = readRequestLine(line);
    } else if (!readFieldLine(text, start, end, this.#headers)) throw malformed("HPE_INVALID_HEADER_TOKEN");
    else if (this.#headers.length > 2 * mostHeaderLines) {
      const what = `The request has more than ${mostHeaderLines} header lines. ${sendFewer}`;
      throw new ProxyError("headers_too_large", what, { causedBy: "header lines" });
    }
    return false;
  }

  /** Checks the beginning of an incomplete line: in other protocols it may never be complete. */
  #checkBeginning(line: string): void {
    const carriage = line.indexOf("\r");
    const isCut = carriage !== -1 && carriage < line.length - 1;
    if (this.#requestLine !== undefined) {
      if (isCut) throw malformed("HPE_INVALID_HEADER_TOKEN");
      return;
    }
    // An empty line, or one of PROXY, version 2.
    if (line === "\r" || line === "\0") return;
    if (line.includes(" ")) {
      this.isHead = line.startsWith("HEAD ");
      checkMethod(line);
      if (isCut) throw malformed("HPE_CR_EXPECTED");
    } else if (!methods.some((method) => method.startsWith(line))) throw noMethod(line);
  }

  /** Forgets an incomplete head. */
  clear(): void {
    this.#rest = "";
    this.#bytes = 0;
    this.#requestLine = undefined;
    this.#headers = [];
  }

  #complete(bytes: number): RequestHead {
    const [, method = "", target = "", version = ""] = this.#requestLine ?? [];
    const headers = this.#headers;
    this.clear();
    const head = new RequestHead(method, target, version, headers, bytes);
    this.isHead = false;
    return head;
  }
}

/** Empty lines before a request are ignored (RFC 9112 section 2.2). */
function skipEmptyLines(bytes: Buffer, from: number): number {
  let position = from;
  while (bytes[position] === carriageReturn && bytes[position + 1] === lineFeed) position += 2;
  return position;
}

function readRequestLine(line: string): RegExpExecArray {
  checkMethod(line);
  if (line.includes("\r")) throw malformed("HPE_CR_EXPECTED");
  const words = requestLine.exec(line);
  if (words === null)
    throw malformed(/^[^ ]+ +[^ ]+ +HTTP\/[^ ]*$/.test(line) ? "HPE_INVALID_VERSION" : "HPE_INVALID_URL");
  const [, method = "", target = ""] = words;
  if (!(method === "CONNECT" ? authorityForm : targetForm).test(target)) throw malformed("HPE_INVALID_URL");
  return words;
}

function checkMethod(line: string): void {
  if (line.startsWith("POST ")) return;
  const end = line.indexOf(" ");
  if (end === -1 || !methods.includes(line.slice(0, end))) throw noMethod(line);
}

/** How callers begin that speak another protocol, its name, and what to do. */
const otherProtocols = [
  // RFC 8446 section 5.1, RFC 9113 section 3.4, RFC 1928 section 3.
  [["\x16"], "TLS", "Write http:// in its base URL, or give the listener mtls."],
  [["PRI"], "HTTP/2", "Set the client to HTTP/1.1."],
  [["\x05", "\x04"], "SOCKS", "Write the listener's address in the client's base URL, not as its proxy."],
  // HAProxy's, of both versions; the second is read up to its first line that is not empty.
  [["PROX", "\0\r"], "PROXY protocol", "Turn it off at the balancer that sends it (HAProxy: send-proxy)."],
] as const;

function noMethod(line: string): ProxyError {
  const [, name, fix] =
    otherProtocols.find(([beginnings]) => beginnings.some((each) => `${line}\r`.startsWith(each))) ?? [];
  if (name === undefined) return malformed("HPE_INVALID_METHOD");
  const what = `The caller speaks ${name}, and this listener plain HTTP/1.1 alone. ${fix}`;
  return new ProxyError("malformed_request", what, { causedBy: name });
}

/** Whether the body comes in chunks. The handler judges the codings below the chunks (RFC 9112 sections 6.1 and 6.3). */
function readTransferEncoding(headers: HeaderLines): boolean {
  const codings = transferCodings(headers);
  if (codings.length === 0) return false;
  if (codings.indexOf("chunked") !== codings.length - 1) throw malformed("HPE_INVALID_TRANSFER_ENCODING");
  return true;
}

function readContentLength(headers: HeaderLines, isChunked: boolean): number {
  const [value, ...more] = valuesOf(headers, "content-length");
  if (value === undefined) return 0;
  const [, digits] = contentLength.exec(value) ?? [];
  if (digits === undefined || more.length > 0 || isChunked) throw malformed("HPE_INVALID_CONTENT_LENGTH");
  return Number(digits);
}

/** The faults of bytes that are no HTTP/1.1, by the codes of llhttp, which logs and other programs have too. */
const syntaxFaults = {
  HPE_INVALID_METHOD: "the method is no method of HTTP in capitals, such as POST",
  HPE_INVALID_URL:
    "the request line is not a method, a target and HTTP/1.1, or the target has a character that must be percent-encoded",
  HPE_INVALID_VERSION: "the request line ends with another version than HTTP/1.1",
  HPE_INVALID_HEADER_TOKEN:
    "a header line is not Name: value, its name has a blank or its value a control character, or it continues the line before",
  HPE_CR_EXPECTED: "a line ends with something else than a carriage return and a line feed",
  HPE_INVALID_CONTENT_LENGTH:
    "Content-Length is not one number, or stands beside Transfer-Encoding; send one of the two",
  HPE_INVALID_TRANSFER_ENCODING: "Transfer-Encoding does not end with chunked, or names it twice",
  HPE_INVALID_CHUNK_SIZE: "a chunk does not begin with its size in hexadecimal digits, or is not as long as that says",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "the extensions of a chunk are too long; leave them out",
  HPE_INVALID_EOF_STATE: "the caller closed its side of the connection before the request was complete",
} as const;
export type SyntaxFault = keyof typeof syntaxFaults;

export function malformed(causedBy: SyntaxFault): ProxyError {
  const what = `The request is not well-formed HTTP/1.1: ${syntaxFaults[causedBy]} (${causedBy}).`;
  return new ProxyError("malformed_request", what, { causedBy });
}

/** Wrong bytes around the data of a chunk have the code of a wrong size. */
const chunkFaults: Readonly<Record<Exclude<ChunkFault, "trailers too long">, SyntaxFault>> = {
  malformed: "HPE_INVALID_CHUNK_SIZE",
  "size too long": "HPE_INVALID_CHUNK_SIZE",
  "line feed alone": "HPE_CR_EXPECTED",
  "extensions too long": "HPE_CHUNK_EXTENSIONS_OVERFLOW",
  "malformed trailer": "HPE_INVALID_HEADER_TOKEN",
};

export function malformedChunks(fault: ChunkFault): ProxyError {
  return fault === "trailers too long" ? headTooLarge() : malformed(chunkFaults[fault]);
}

const sendFewer = "Send fewer or shorter ones, such as cookies.";

function headTooLarge(): ProxyError {
  const causedBy = "HPE_HEADER_OVERFLOW";
  return new ProxyError("headers_too_large", `The headers are longer than 16 KiB. ${sendFewer}`, { causedBy });
}
