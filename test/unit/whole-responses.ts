/** Bytes from a service that are whole responses, each with the response that is read from them. */

import { soundChunks } from "./corpus/chunked-bodies.ts";

/** The expected reading of one response. */
export interface Whole {
  readonly status: number;
  /** Name, value, name, value, … */
  readonly headers: readonly string[];
  readonly body: string;
  /** How long the connection may then be idle; 0 if it ends. */
  readonly idleMs: number;
}

export const ok = "HTTP/1.1 200 OK\r\n";
export const sized = `${ok}Content-Length: 2\r\n`;
export const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;
export const early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
const keptMs = 4_000;

const two = ["Content-Length", "2"];
const oneChunk = "2\r\n{}\r\n0\r\n\r\n";
const likeFraming = ["Content-Lengt_", "9", "Transfer-Encodin_", "chunked", "Connectio_", "close"];
const keepAlive = ["Connection", "keep-alive", "Keep-Alive", "timeout=9"];
const inChunks = ["Transfer-Encoding", "chunked"];
const whole = (headers: readonly string[], body: string, more: Partial<Whole> = {}): Whole => ({
  status: 200,
  headers,
  body,
  idleMs: keptMs,
  ...more,
});

export const x = (length: number) => "x".repeat(length);
/** A head of exactly this many bytes. */
export const headOf = (length: number) => {
  const rest = "Content-Length: 2\r\n\r\n";
  return `${ok}X: ${x(length - ok.length - rest.length - 5)}\r\n${rest}`;
};
const everyByte = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).join("");
/** All characters that a field value may contain. */
const everyFieldByte = [...everyByte]
  .filter((char) => char === "\t" || (char >= " " && char !== "\x7f"))
  .join("")
  .trim();

/** A whole response of these lines, which are read unchanged; `lines` are pairs of name and value. */
const of = (title: string, status: string, lines: readonly string[], body: string, more: Partial<Whole> = {}) => {
  const written = lines.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join("");
  const read = { status: Number(/ (\d+)/.exec(status)?.[1]), ...more };
  return [title, `${status}\r\n${written}\r\n${body}`, whole(lines, read.body ?? body, read)] as const;
};
/** Header lines after the length, which are read unchanged. */
const keeping = (title: string, idleMs: number, ...lines: readonly string[]) => {
  const written = lines.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join("");
  return [title, `${sized}${written}\r\n{}`, whole([...two, ...lines], "{}", { idleMs })] as const;
};
/** A body that ends with the connection. */
const toTheEnd = (title: string, body: string, ...line: readonly string[]) => {
  const written = line.length === 0 ? "" : `${line.join(":")}\r\n`;
  return [title, `${ok}${written}\r\n${body}`, whole(line, body, { idleMs: 0 })] as const;
};

export const accepted: readonly (readonly [title: string, bytes: string, response: Whole])[] = [
  ["a length", `${sized}\r\n{}`, whole(two, "{}")],
  ["a length of zero", `${ok}Content-Length: 0\r\n\r\n`, whole(["Content-Length", "0"], "")],
  ["a length with leading zeros", `${ok}Content-Length: 0002\r\n\r\n{}`, whole(["Content-Length", "0002"], "{}")],
  ["a length in odd casing", `${ok}cOnTeNt-LeNgTh:2\r\n\r\n{}`, whole(["cOnTeNt-LeNgTh", "2"], "{}")],
  ["a length among blanks", `${ok}Content-Length: \t 2\t \r\n\r\n{}`, whole(two, "{}")],
  ["a body of every byte", `${ok}Content-Length: 256\r\n\r\n${everyByte}`, whole(["Content-Length", "256"], everyByte)],
  of("a body that looks like a response", "HTTP/1.1 200 OK", ["Content-Length", "19"], `${ok}\r\n`),
  ["no reason", "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\n{}", whole(two, "{}")],
  ["no reason and no blank", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}", whole(two, "{}")],
  ["a reason in Latin-1", "HTTP/1.1 200 d\xe9j\xe0 vu\t!\r\nContent-Length: 2\r\n\r\n{}", whole(two, "{}")],
  ["an unknown status", "HTTP/1.1 299 Mine\r\nContent-Length: 2\r\n\r\n{}", whole(two, "{}", { status: 299 })],
  ["the lowest final status", "HTTP/1.1 200 Lowest\r\nContent-Length: 2\r\n\r\n{}", whole(two, "{}")],
  ["the highest status", "HTTP/1.1 999 Highest\r\nContent-Length: 2\r\n\r\n{}", whole(two, "{}", { status: 999 })],
  of("a redirect", "HTTP/1.1 302 Found", ["Location", "/x", "Content-Length", "0"], ""),
  ["a 401", "HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\n{}", whole(two, "{}", { status: 401 })],
  ["an empty value", `${ok}X:\r\nContent-Length: 2\r\n\r\n{}`, whole(["X", "", ...two], "{}")],
  ["a value of blanks", `${ok}X: \t \r\nContent-Length: 2\r\n\r\n{}`, whole(["X", "", ...two], "{}")],
  of("a value with a tab", "HTTP/1.1 200 OK", ["X", "a\tb", ...two], "{}"),
  of("every byte of a value", "HTTP/1.1 200 OK", ["X", everyFieldByte, ...two], "{}"),
  of("every byte of a name", "HTTP/1.1 200 OK", ["!#$%&'*+-.^_`|~09azAZ", "1", ...two], "{}"),
  of("a colon in a value", "HTTP/1.1 200 OK", ["X", "a:b: c", ...two], "{}"),
  of("a repeated header", "HTTP/1.1 200 OK", ["Set-Cookie", "a", "set-cookie", "b", ...two], "{}"),
  of("a header named __proto__", "HTTP/1.1 200 OK", ["__proto__", "1", ...two], "{}"),
  of("names as long as those of framing headers", "HTTP/1.1 200 OK", [...likeFraming, ...two], "{}"),
  ["a head of 16 KiB", `${headOf(16_384)}{}`, whole(["X", x(16_384 - 17 - 21 - 5), ...two], "{}")],
  of("a head of a thousand lines", "HTTP/1.1 200 OK", [...Array(1_000).fill(["X", "1"]).flat(), ...two], "{}"),

  ["an interim response", `${early}${sized}\r\n{}`, whole(two, "{}")],
  ["a 100 without an Expect in the request", `HTTP/1.1 100 Continue\r\n\r\n${sized}\r\n{}`, whole(two, "{}")],
  ["a 100 without a reason", `HTTP/1.1 100\r\n\r\n${sized}\r\n{}`, whole(two, "{}")],
  ["a 102 of HTTP/1.0", `HTTP/1.0 102 Processing\r\n\r\n${sized}\r\n{}`, whole(two, "{}")],
  ["a 199", `HTTP/1.1 199 Mine\r\n\r\n${sized}\r\n{}`, whole(two, "{}")],
  ["fifty interim responses", `${early.repeat(50)}${sized}\r\n{}`, whole(two, "{}")],
  ...["Content-Length: 9\r\nConnection: close", "Transfer-Encoding: chunked"].map(
    (framing) =>
      [`an interim ${framing}`, `HTTP/1.1 103 Early\r\n${framing}\r\n\r\n${sized}\r\n{}`, whole(two, "{}")] as const,
  ),
  ["empty lines before the status line", `\r\n\r\n\n\r${sized}\r\n{}`, whole(two, "{}")],
  ["64 KiB of empty lines", `${"\r\n".repeat(32_768)}${sized}\r\n{}`, whole(two, "{}")],
  ["empty lines between interim responses", `${early}\r\n\r\n${early}\r\n${sized}\r\n{}`, whole(two, "{}")],

  ...soundChunks.map(([title, body, data]) => [title, `${chunked}${body}`, whole(inChunks, data)] as const),
  ["chunks of every byte", `${chunked}100\r\n${everyByte}\r\n0\r\n\r\n`, whole(inChunks, everyByte)],
  ["a trailer with a close", `${chunked}2\r\n{}\r\n0\r\nConnection: close\r\n\r\n`, whole(inChunks, "{}")],
  of("chunks in odd casing", "HTTP/1.1 200 OK", ["tRANSFER-eNCODING", "cHUNKED"], oneChunk, { body: "{}" }),
  of("chunks as the last of two", "HTTP/1.1 200 OK", ["Transfer-Encoding", "gzip, chunked"], oneChunk, { body: "{}" }),
  of("chunks on the last line", "HTTP/1.1 200 OK", ["Transfer-Encoding", "gzip", ...inChunks], oneChunk, {
    body: "{}",
  }),
  of("chunks of HTTP/1.0", "HTTP/1.0 200 OK", inChunks, oneChunk, { body: "{}", idleMs: 0 }),

  ["a 204", "HTTP/1.1 204 No\r\n\r\n", whole([], "", { status: 204 })],
  of("a 204 with a length", "HTTP/1.1 204 No", ["Content-LENGTH", "5"], ""),
  of("a 204 with a coding", "HTTP/1.1 204 No", inChunks, ""),
  of("a 204 followed by chunks", "HTTP/1.1 204 No", inChunks, "0\r\n\r\n", { body: "", idleMs: 0 }),
  ["a 304", 'HTTP/1.1 304 Same\r\nETag: "1"\r\n\r\n', whole(["ETag", '"1"'], "", { status: 304 })],
  of("a 304 with a length", "HTTP/1.1 304 Same", ["Content-Length", "1234"], ""),
  of("a 304 with a length, followed by a body", "HTTP/1.1 304 Same", two, "{}", { body: "", idleMs: 0 }),

  keeping("a close", 0, "Connection", "close"),
  keeping("a close among options", 0, "Connection", "X-A ,\tCLOSE , b"),
  keeping("a close in the second line", 0, "Connection", "x", "connection", "Close"),
  keeping("an option that ends in close", keptMs, "Connection", "foreclose, close-not"),
  ["HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", whole(two, "{}", { idleMs: 0 })],
  of("HTTP/1.0 with keep-alive", "HTTP/1.0 200 OK", [...keepAlive, ...two], "{}", { idleMs: 0 }),
  keeping("a keep-alive", keptMs, "Connection", "keep-alive"),
  keeping("a Keep-Alive hint", 4_000, "Keep-Alive", "timeout=5"),
  keeping("a hint with more", 20_000, "Keep-Alive", "max=3, timeout=21"),
  keeping("a hint of an hour", 60_000, "Keep-Alive", "timeout=3600"),
  keeping("a hint of a second", 0, "Keep-Alive", "timeout=1"),
  keeping("a hint of zero", 0, "Keep-Alive", "timeout=0"),
  keeping("a hint that is no time", keptMs, "Keep-Alive", "for ever"),
  keeping("a hint before a close", 0, "Keep-Alive", "timeout=9", "Connection", "close"),
  keeping("a hint behind a close", 0, "Connection", "close", "Keep-Alive", "timeout=9"),

  ["a byte after the response", `${sized}\r\n{}!`, whole(two, "{}", { idleMs: 0 })],
  ["a line end after the response", `${sized}\r\n{}\r\n`, whole(two, "{}", { idleMs: 0 })],
  ["another response after the response", `${sized}\r\n{}${sized}\r\n[]`, whole(two, "{}", { idleMs: 0 })],
  ["another response after chunks", `${chunked}${oneChunk}${sized}\r\n[]`, whole(inChunks, "{}", { idleMs: 0 })],
  of("another response after an empty body", "HTTP/1.1 200 OK", ["Content-Length", "0"], `${sized}\r\n[]`, {
    body: "",
    idleMs: 0,
  }),
];

/** Bodies that only an orderly close of the connection ends. */
export const endedByTheClose: readonly (readonly [title: string, bytes: string, response: Whole])[] = [
  toTheEnd("no framing", "{}"),
  toTheEnd("no framing and no body", ""),
  ["no framing, of HTTP/1.0", "HTTP/1.0 200 OK\r\nX-Old: yes\r\n\r\n{}", whole(["X-Old", "yes"], "{}", { idleMs: 0 })],
  toTheEnd("every byte", everyByte),
  toTheEnd("another response inside the body", `${sized}\r\n{}`),
  toTheEnd("a coding that is not chunked", "{}", "Transfer-Encoding", "gzip"),
  toTheEnd("chunks inside of another coding", "{}", "Transfer-Encoding", "chunked, gzip"),
  toTheEnd("a coding like chunked", "{}", "Transfer-Encoding", "xchunked"),
  toTheEnd("an empty coding", "{}", "Transfer-Encoding", ""),
  toTheEnd("a keep-alive", "{}", "Connection", "keep-alive"),
];
