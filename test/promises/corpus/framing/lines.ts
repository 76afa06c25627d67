import { orderText, rawPost } from "../../../../testkit/raw-caller.ts";
import { type Case, hangsUp, hidden, last, lengthOfOrder } from "../case.ts";

const plain = rawPost({ connection: [] });
/** A plain order with this in place of its request line. */
const starting = (line: string) => plain.replace("POST /create_order HTTP/1.1", line);
/** The last order with this line before another. */
const having = (line: string) => last.replace("Content-Type:", `${line}\r\nContent-Type:`);

/** The request line and the header lines (RFC 9112 2.2, 3 and 5). */
export const lines: readonly Case[] = [
  // Line ends of the request line and of the head.
  ["two LF behind the head", plain.replace("\r\n\r\n", "\n\n"), [400]],
  ["LF everywhere", plain.replaceAll("\r\n", "\n"), [400]],

  // The request line.
  ["a method of a thousand letters", starting(`${"P".repeat(1_000)} /create_order HTTP/1.1`), [400]],
  ["a PROXY protocol line", `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${plain}`, [400]],
  ["a PROXY protocol line, second version", `\r\n\r\n\0\r\nQUIT\n${plain}`, [400]],

  // Header lines.
  ["a folded Host", plain.replace("Host: ", "Host:\r\n "), [400]],
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
  ["an empty header value", having("X-Line:"), [200]],
  ["every character that a name may have", having("!#$%&'*+-.^_`|~09Az: 1"), [200]],
  ["bytes beyond ASCII in a value", having("X-Line: \xe4\x80\xff"), [200]],
  ["tabs in a value", having("X-Line: \ta\tb\t"), [200]],
  ["every byte in a write of its own", [...last.slice(0, -lengthOfOrder), orderText], [200]],
  ["a hidden request in a value", having(`X-Line: ${hidden.replaceAll(/\s+/g, " ")}`), [200]],
];
