import { orderText } from "../../../../testkit/raw-caller.ts";
import { type Case, chunks, fallsSilent, hangsUp, hidden, inChunks, last, lengthOfOrder } from "../case.ts";

const hex = lengthOfOrder.toString(16);
const end = "0\r\n\r\n";
/** The order as one chunk with this size line, ended soundly, and a hidden request behind. */
const sized = (size: string) => inChunks(`${size}\r\n${orderText}\r\n${end}${hidden}`);
/** A sound chunk, then this in place of the last chunk and all behind it. */
const ended = (rest: string) => inChunks(`${hex}\r\n${orderText}\r\n${rest}`);
const trailed = (lines: string) => ended(`0\r\n${lines}\r\n${last}`);

/** Chunked bodies (RFC 9112 7.1): sizes, extensions, ends, trailers. */
export const chunkedBodies: readonly Case[] = [
  // Sizes: 1*HEXDIG and nothing else.
  ["no size", sized(""), [400]],
  ["a size with 0x", sized(`0x${hex}`), [400]],
  ["a size with a plus", sized(`+${hex}`), [400]],
  ["a negative size", sized("-1"), [400]],
  ["a size with a fraction", sized(`${hex}.0`), [400]],
  ["a size with a separator", sized("5_0"), [400]],
  ["a size with an h", sized(`${hex}h`), [400]],
  ["a size with a comma", sized(`${hex},${hex}`), [400]],
  ["a size in quotes", sized(`"${hex}"`), [400]],
  ["a blank before the size", sized(` ${hex}`), [400]],
  ["a tab before the size", sized(`\t${hex}`), [400]],
  ["a NUL before the size", sized(`\0${hex}`), [400]],
  ["a NUL behind the size", sized(`${hex}\0`), [400]],
  ["a high byte behind the size", sized(`${hex}\xb2`), [400]],
  ["a size that wraps 32 bits to the right one", [sized(`1000000${hex}`), fallsSilent], [408]],
  ["a size that wraps 64 bits to the right one", sized(`10000000000000000${hex}`), [400]],
  ["a size of a thousand digits", sized("f".repeat(1_000)), [400]],
  ["an empty line before the size", inChunks(`\r\n${chunks}${hidden}`), [400]],

  // A chunk and its size disagree.
  [
    "one byte less than announced",
    inChunks(`${(lengthOfOrder + 1).toString(16)}\r\n${orderText}\r\n${end}${hidden}`),
    [400],
  ],
  [
    "one byte more than announced",
    inChunks(`${(lengthOfOrder - 1).toString(16)}\r\n${orderText}\r\n${end}${hidden}`),
    [400],
  ],
  [
    "two bytes less, so that the line end is eaten",
    inChunks(`${(lengthOfOrder + 2).toString(16)}\r\n${orderText}\r\n${end}${hidden}`),
    [400],
  ],
  [
    "a chunk that swallows a hidden request",
    inChunks(`${(hidden.length + 5).toString(16)}\r\n${end}${hidden}\r\n${end}`),
    [400],
  ],
  ["no line end behind a chunk", inChunks(`${hex}\r\n${orderText}${end}${hidden}`), [400]],
  ["a blank behind a chunk", inChunks(`${hex}\r\n${orderText} \r\n${end}${hidden}`), [400]],
  ["two line ends behind a chunk", inChunks(`${hex}\r\n${orderText}\r\n\r\n${end}${hidden}`), [400]],

  // Line ends other than CRLF.
  ["LF behind a size", inChunks(`${hex}\n${orderText}\r\n${end}${hidden}`), [400]],
  ["LF behind a chunk", inChunks(`${hex}\r\n${orderText}\n${end}${hidden}`), [400]],
  ["CR behind a size", inChunks(`${hex}\r${orderText}\r\n${end}${hidden}`), [400]],
  ["CR behind a chunk", inChunks(`${hex}\r\n${orderText}\r${end}${hidden}`), [400]],
  ["two CR behind a size", inChunks(`${hex}\r\r\n${orderText}\r\n${end}${hidden}`), [400]],
  ["any two bytes in place of a chunk's line end", inChunks(`${hex}\r\n${orderText}XX${end}${hidden}`), [400]],
  ["LF behind the last size", ended(`0\n\r\n${hidden}`), [400]],
  ["LF behind the trailers", ended(`0\r\n\n${hidden}`), [400]],
  ["CR behind the trailers", ended(`0\r\n\r${hidden}`), [400]],
  ["LF at the end of all", ended(`0\n\n${hidden}`), [400]],

  // Extensions: allowed, and read past; but not with a line end of any sort inside.
  ["LF in an extension", sized(`${hex};a=b\n${hex}`), [400]],
  ["CR in an extension", sized(`${hex};a=b\r${hex}`), [400]],
  ["LF in a quoted extension", sized(`${hex};a="\n"`), [400]],
  ["a NUL in an extension", sized(`${hex};a=\0`), [400]],
  ["a hidden request in an extension of the last chunk", ended(`0;a=b\n\r\n${hidden}`), [400]],
  ["an extension of twenty thousand bytes", sized(`${hex};a=${"b".repeat(20_000)}`), [400]],
  ["an extension", inChunks(`${hex};a=b\r\n${orderText}\r\n${end}${last}`), [200, 200]],
  ["a quoted extension with a semicolon", inChunks(`${hex};a="b;c"\r\n${orderText}\r\n${end}${last}`), [200, 200]],
  ["an extension of the last chunk", ended(`0;a=b;c\r\n\r\n${last}`), [200, 200]],

  // Ends.
  ["no last chunk, and the caller hangs up", [ended(""), hangsUp], [400]],
  ["no last chunk, and the caller falls silent", [ended(""), fallsSilent], [408]],
  ["no end of the trailers, and the caller hangs up", [ended("0\r\n"), hangsUp], [400]],
  ["half a line end, and the caller falls silent", [ended("0\r\n\r"), fallsSilent], [408]],
  ["half a size, and the caller hangs up", [inChunks(hex.slice(0, 1)), hangsUp], [400]],
  ["half a chunk, and the caller hangs up", [inChunks(`${hex}\r\n${orderText.slice(0, 9)}`), hangsUp], [400]],
  ["nothing but the last chunk", inChunks(`${end}${last}`), [400, 200]],
  ["a hidden request in place of the last chunk", ended(hidden), [400]],

  // Trailers: read past, whatever they say; framing has no place in them (RFC 9110 6.5.1).
  ["a Transfer-Encoding in the trailers", trailed("Transfer-Encoding: chunked\r\n"), [400]],
  ["a Content-Length in the trailers", trailed(`Content-Length: ${last.length}\r\n`), [400]],
  ["a trailer without a colon", trailed("X-Sum\r\n"), [400]],
  ["a trailer with a blank before its colon", trailed("X-Sum : 1\r\n"), [400]],
  ["a NUL in a trailer", trailed("X-Sum: 1\0\r\n"), [400]],
  ["a bare LF in a trailer", trailed("X-Sum: 1\nX-Other: 2\r\n"), [400]],
  ["a hidden request as a trailer", ended(`0\r\n${hidden}`), [400]],
  ["trailers of 20 KiB", trailed(`X-Sum: ${"x".repeat(20_480)}\r\n`), [431]],
  ["a trailer", trailed("X-Sum: 1\r\n"), [200, 200]],
  ["a Host in the trailers", trailed("Host: evil.example\r\n"), [200, 200]],
  ["credentials in the trailers", trailed("Authorization: Bearer mine\r\nCookie: a=b\r\n"), [200, 200]],

  // Sound.
  ["a size with leading zeros", inChunks(`000000${hex}\r\n${orderText}\r\n${end}${last}`), [200, 200]],
  ["a size in capitals", inChunks(`${hex.toUpperCase()}\r\n${orderText}\r\n0000\r\n\r\n${last}`), [200, 200]],
  [
    "a chunk for every byte",
    inChunks(`${[...orderText].map((byte) => `1\r\n${byte}\r\n`).join("")}${end}${last}`),
    [200, 200],
  ],
  ["every byte of the punctuation in a write of its own", [inChunks(""), ...chunks], [200]],
];
