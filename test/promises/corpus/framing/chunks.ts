import { chunked, orderText } from "../../../../testkit/raw-caller.ts";
import { type Case, chunks, fallsSilent, hangsUp, hidden, inChunks, last, lengthOfOrder } from "../case.ts";

const hex = lengthOfOrder.toString(16);
const end = "0\r\n\r\n";
/** The order as a chunk of this size, the end of all chunks, and this behind. */
const sized = (size: string, behind: string) => inChunks(`${size}\r\n${orderText}\r\n${end}${behind}`);
/** A sound chunk, then this in place of the last chunk and all behind it. */
const ended = (rest: string) => inChunks(`${hex}\r\n${orderText}\r\n${rest}`);
const trailed = (lines: string) => ended(`0\r\n${lines}\r\n${last}`);

/** Chunked bodies (RFC 9112 7.1): where they end, and what is read past. What the reader refuses is in its own corpus. */
export const chunkedBodies: readonly Case[] = [
  ["a size that wraps 32 bits to the right one", [sized(`1000000${hex}`, hidden), fallsSilent], [408]],
  ["a chunk that swallows a hidden request", inChunks(chunked(`${end}${hidden}`)), [400]],

  // Extensions: allowed, and read past.
  ["an extension", sized(`${hex};a=b`, last), [200, 200]],
  ["a quoted extension with a semicolon", sized(`${hex};a="b;c"`, last), [200, 200]],
  ["an extension of the last chunk", ended(`0;a=b;c\r\n\r\n${last}`), [200, 200]],

  // Ends.
  ["no last chunk, and the caller hangs up", [ended(""), hangsUp], [400]],
  ["no last chunk, and the caller falls silent", [ended(""), fallsSilent], [408]],
  ["no end of the trailers, and the caller hangs up", [ended("0\r\n"), hangsUp], [400]],
  ["half a line end, and the caller falls silent", [ended("0\r\n\r"), fallsSilent], [408]],
  ["half a size, and the caller hangs up", [inChunks(hex.slice(0, 1)), hangsUp], [400]],
  ["half a chunk, and the caller hangs up", [inChunks(`${hex}\r\n${orderText.slice(0, 9)}`), hangsUp], [400]],
  ["nothing but the last chunk", inChunks(`${end}${last}`), [400, 200]],

  // Trailers: read past, whatever they say.
  ["a trailer", trailed("X-Sum: 1\r\n"), [200, 200]],
  ["a Host in the trailers", trailed("Host: evil.example\r\n"), [200, 200]],
  ["credentials in the trailers", trailed("Authorization: Bearer mine\r\nCookie: a=b\r\n"), [200, 200]],

  // Sound.
  ["a size with leading zeros", sized(`000000${hex}`, last), [200, 200]],
  ["a size in capitals", inChunks(`${hex.toUpperCase()}\r\n${orderText}\r\n0000\r\n\r\n${last}`), [200, 200]],
  ["a chunk for every byte", inChunks(`${orderText.replace(/./g, "1\r\n$&\r\n")}${end}${last}`), [200, 200]],
  ["every byte of the punctuation in a write of its own", [inChunks(""), ...chunks], [200]],
];
