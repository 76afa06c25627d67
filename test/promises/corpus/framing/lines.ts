import { orderText, rawPost } from "../../../../testkit/raw-caller.ts";
import { type Case, hangsUp, hidden, last, lengthOfOrder } from "../case.ts";

const plain = rawPost({ connection: [] });
/** A plain order with this in place of its request line. */
const starting = (line: string) => plain.replace("POST /create_order HTTP/1.1", line);
/** A plain order with this between two of its header lines. */
const between = (bytes: string) => plain.replace("Content-Type:", `${bytes}Content-Type:`);

/** The request line and the header lines (RFC 9112 2.2, 3 and 5). */
export const lines: readonly Case[] = [
  // Line ends of the request line and of the head.
  ["LF behind the request line", plain.replace("HTTP/1.1\r\n", "HTTP/1.1\n"), [400]],
  ["CR behind the request line", plain.replace("HTTP/1.1\r\n", "HTTP/1.1\r"), [400]],
  ["two CR behind the request line", plain.replace("HTTP/1.1\r\n", "HTTP/1.1\r\r\n"), [400]],
  ["LF behind a header line", plain.replace("127.0.0.1\r\n", "127.0.0.1\n"), [400]],
  ["CR behind a header line", plain.replace("127.0.0.1\r\n", "127.0.0.1\r"), [400]],
  ["two CR behind a header line", plain.replace("127.0.0.1\r\n", "127.0.0.1\r\r\n"), [400]],
  ["LF behind the head", plain.replace("\r\n\r\n", "\r\n\n"), [400]],
  ["two LF behind the head", plain.replace("\r\n\r\n", "\n\n"), [400]],
  ["two CR behind the head", plain.replace("\r\n\r\n", "\r\r"), [400]],
  ["LF and CR behind the head", plain.replace("\r\n\r\n", "\n\r\n\r"), [400]],
  ["LF everywhere", plain.replaceAll("\r\n", "\n"), [400]],

  // The request line.
  ["a tab before the target", starting("POST\t/create_order HTTP/1.1"), [400]],
  ["a tab before the version", starting("POST /create_order\tHTTP/1.1"), [400]],
  ["a blank before the method", starting(" POST /create_order HTTP/1.1"), [400]],
  ["a blank behind the version", starting("POST /create_order HTTP/1.1 "), [400]],
  ["another version behind the version", starting("POST /create_order HTTP/1.1 HTTP/1.0"), [400]],
  ["no target", starting("POST HTTP/1.1"), [400]],
  ["no method", starting("/create_order HTTP/1.1"), [400]],
  ["nothing but a method", starting("POST"), [400]],
  ["a NUL in the method", starting("PO\0ST /create_order HTTP/1.1"), [400]],
  ["a bare CR in the target", starting("POST /create\r_order HTTP/1.1"), [400]],
  ["a bare LF in the target", starting("POST /create\n_order HTTP/1.1"), [400]],
  ["a byte order mark first", starting("\xef\xbb\xbfPOST /create_order HTTP/1.1"), [400]],
  ["a NUL first", starting("\0POST /create_order HTTP/1.1"), [400]],
  ["lower case: methods have a case", starting("post /create_order HTTP/1.1"), [400]],
  ["a method that begins like POST", starting("POSTAL /create_order HTTP/1.1"), [400]],
  ["a method with a colon", starting("POST: /create_order HTTP/1.1"), [400]],
  ["a method of a thousand letters", starting(`${"P".repeat(1_000)} /create_order HTTP/1.1`), [400]],
  ["an answer in place of a request", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", [400]],
  ["the start of a TLS handshake", "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03", [400]],
  ["a greeting of another protocol", "EHLO evil.example\r\n", [400]],
  ["a PROXY protocol line", `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${plain}`, [400]],
  ["a PROXY protocol line, second version", `\r\n\r\n\0\r\nQUIT\n${plain}`, [400]],

  // Header lines.
  ["a line without a colon", between("X-Line\r\n"), [400]],
  ["a line that is a colon", between(":\r\n"), [400]],
  ["a line without a name", between(": value\r\n"), [400]],
  ["a blank behind a name", between("X-Line : 1\r\n"), [400]],
  ["a tab within a name", between("X\tLine: 1\r\n"), [400]],
  ["a blank before a name", between(" X-Line: 1\r\n").replace("Host: 127.0.0.1\r\n", ""), [400]],
  ["a NUL in a name", between("X-\0Line: 1\r\n"), [400]],
  ["a DEL in a name", between("X-\x7fLine: 1\r\n"), [400]],
  ["a quote in a name", between('X-"Line": 1\r\n'), [400]],
  ["brackets in a name", between("X-[Line]: 1\r\n"), [400]],
  ["an at sign in a name", between("X@Line: 1\r\n"), [400]],
  ["a letter beyond ASCII in a name", between("X-L\xefne: 1\r\n"), [400]],
  ["a NUL in a value", between("X-Line: \0\r\n"), [400]],
  ["an escape byte in a value", between("X-Line: \x1b[2J\r\n"), [400]],
  ["a bell in a value", between("X-Line: \x07\r\n"), [400]],
  ["a DEL in a value", between("X-Line: \x7f\r\n"), [400]],
  ["a bare CR in a value", between("X-Line: 1\rX-Next: 2\r\n"), [400]],
  ["a bare CR at the start of a value", between("X-Line:\r 1\r\n"), [400]],
  ["a request line among the headers", between("POST /get_order HTTP/1.1\r\n"), [400]],
  ["a folded Host", plain.replace("Host: ", "Host:\r\n "), [400]],
  ["a folded line of blanks only", between("X-Line: 1\r\n \r\n"), [400]],
  ["a fold before the first header", plain.replace("\r\n", "\r\n "), [400]],

  // The caller breaks off.
  ["nothing at all", [hangsUp], []],
  ["half a method", ["PO", hangsUp], [400]],
  ["half a request line", ["POST /create_or", hangsUp], [400]],
  ["half a head", [plain.slice(0, 60), hangsUp], [400]],
  ["a head without its empty line", [plain.slice(0, -lengthOfOrder - 2), hangsUp], [400]],

  // Sound, if odd.
  // Allowed by RFC 9112 section 3: words parted by blanks.
  ["two blanks before the target", starting("POST  /create_order HTTP/1.1"), [200]],
  ["two blanks before the version", starting("POST /create_order  HTTP/1.1"), [200]],
  ["an empty line before the request", `\r\n${last}`, [200]],
  ["two empty lines before the request", `\r\n\r\n${last}`, [200]],
  ["an empty header value", last.replace("Content-Type:", "X-Line:\r\nContent-Type:"), [200]],
  [
    "every character that a name may have",
    last.replace("Content-Type:", "!#$%&'*+-.^_`|~09Az: 1\r\nContent-Type:"),
    [200],
  ],
  ["bytes beyond ASCII in a value", last.replace("Content-Type:", "X-Line: \xe4\x80\xff\r\nContent-Type:"), [200]],
  ["tabs in a value", last.replace("Content-Type:", "X-Line: \ta\tb\t\r\nContent-Type:"), [200]],
  ["every byte in a write of its own", [...last.slice(0, -lengthOfOrder), orderText], [200]],
  [
    "a hidden request in a value",
    last.replace("Content-Type:", `X-Line: ${hidden.replaceAll(/\s+/g, " ")}\r\nContent-Type:`),
    [200],
  ],
];
