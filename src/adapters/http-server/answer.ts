import type { Socket } from "node:net";
import { formatFieldLines } from "../../http/field-line.ts";
import { firstOf, type HeaderLines } from "../../http/headers.ts";
import type { Clock } from "../../model/clock.ts";
import { ProxyError } from "../../model/errors.ts";
import type { Answer } from "../../serving/messages.ts";

/** How long a connection is kept while its caller sends nothing. */
export interface Idleness {
  readonly idleMs: number;
  /** The header lines of an answer that keeps the connection open. */
  readonly lines: string;
}

/** Over a network: longer than most callers keep idle connections, so that callers close first. */
export const idlenessAfar: Idleness = describeIdleness(75_000);
/**
 * On this machine no connection is lost unnoticed, so callers need not close first: many keep theirs for ever, and fail their next
 * request over one that was closed. Those that others need give way (listener.ts).
 */
export const idlenessHere: Idleness = describeIdleness(86_400_000);

function describeIdleness(idleMs: number): Idleness {
  return { idleMs, lines: `Connection: keep-alive\r\nKeep-Alive: timeout=${idleMs / 1_000}\r\n` };
}

/** A longer piece of a body is not copied into one text with the bytes before and behind it. */
const mostJoinedBytes = 16_384;

const closed = "Connection: close\r\n";

/** How a response's body ends on the connection (RFC 9112 section 6.3). */
export type Framing = "length" | "chunks" | "close" | "no body";

/**
 * The head of a response, in latin1.
 * @param idleness of the connection; undefined if the response closes it
 * @param date the value of Date; undefined if the answer has its own or must have none
 * @throws ProxyError upstream_bad_response if a header line would break the head
 */
export function formatHead(
  { status, headers }: Answer,
  framing: Framing,
  idleness: Idleness | undefined,
  date: string | undefined,
): string {
  let lines = formatFieldLines(headers);
  if (lines === undefined || status < 200 || status > 999) throw badHead();
  if (date !== undefined) lines += `Date: ${date}\r\n`;
  lines += idleness?.lines ?? closed;
  if (framing === "chunks") lines += "Transfer-Encoding: chunked\r\n";
  return `HTTP/1.1 ${status} ${reasonPhrases[status] ?? "unknown"}\r\n${lines}\r\n`;
}

/**
 * The head of a response that switches to WebSocket (RFC 6455 section 4.2.2).
 * @throws ProxyError upstream_bad_response if a header line would break the head
 */
export function formatSwitch(headers: HeaderLines): string {
  const lines = formatFieldLines(headers);
  if (lines === undefined) throw badHead();
  return `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${lines}\r\n`;
}

/**
 * @param isHead whether it answers a HEAD (RFC 9110 section 9.3.2)
 * @param isCurrent whether the caller speaks HTTP/1.1, which has chunks
 */
export function framingOf(answer: Answer, isHead: boolean, isCurrent: boolean): Framing {
  const { status, headers } = answer;
  if (isHead || status === 204 || status === 304) return "no body";
  if (firstOf(headers, "content-length") !== undefined) return "length";
  return isCurrent ? "chunks" : "close";
}

/**
 * Writes text (latin1) with bytes in its middle.
 * @returns false when the caller should read before more is written
 */
export function writeJoined(socket: Socket, before: string, bytes: Uint8Array, after: string): boolean {
  if (bytes.length <= mostJoinedBytes) return socket.write(before + latin1(bytes) + after, "latin1");
  socket.cork();
  if (before !== "") socket.write(before, "latin1");
  let isTaken = socket.write(bytes);
  if (after !== "") isTaken = socket.write(after, "latin1");
  socket.uncork();
  return isTaken;
}

function latin1(bytes: Uint8Array): string {
  const { buffer, byteOffset, length } = bytes;
  return (bytes instanceof Buffer ? bytes : Buffer.from(buffer, byteOffset, length)).toString("latin1");
}

/** The value of Date, made once a second (RFC 9110 section 6.6.1). */
export function createHttpDate(clock: Clock): () => string {
  let second = Number.NaN;
  let text = "";
  return () => {
    const now = Math.floor(clock.wallMs() / 1_000);
    if (now !== second) text = new Date(now * 1_000).toUTCString();
    second = now;
    return text;
  };
}

function badHead(): ProxyError {
  const what = "The head of the service's answer cannot be passed on.";
  return new ProxyError("upstream_bad_response", what, { causedBy: "head" });
}

/** By status (IANA's registry of HTTP status codes, of 2026). `node:http` has them too, but takes 12 MiB on Node.js 24. */
const reasonPhrases: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  203: "Non-Authoritative Information",
  204: "No Content",
  205: "Reset Content",
  206: "Partial Content",
  207: "Multi-Status",
  208: "Already Reported",
  226: "IM Used",
  300: "Multiple Choices",
  301: "Moved Permanently",
  302: "Found",
  303: "See Other",
  304: "Not Modified",
  305: "Use Proxy",
  307: "Temporary Redirect",
  308: "Permanent Redirect",
  400: "Bad Request",
  401: "Unauthorized",
  402: "Payment Required",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  406: "Not Acceptable",
  407: "Proxy Authentication Required",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  411: "Length Required",
  412: "Precondition Failed",
  413: "Payload Too Large",
  414: "URI Too Long",
  415: "Unsupported Media Type",
  416: "Range Not Satisfiable",
  417: "Expectation Failed",
  421: "Misdirected Request",
  422: "Unprocessable Entity",
  423: "Locked",
  424: "Failed Dependency",
  425: "Too Early",
  426: "Upgrade Required",
  428: "Precondition Required",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  451: "Unavailable For Legal Reasons",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
  505: "HTTP Version Not Supported",
  506: "Variant Also Negotiates",
  507: "Insufficient Storage",
  508: "Loop Detected",
  510: "Not Extended",
  511: "Network Authentication Required",
};
