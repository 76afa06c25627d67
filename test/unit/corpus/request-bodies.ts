import { faultyChunks, soundChunks } from "./chunked-bodies.ts";
import { chunked, next, nextSeen, post, type Row, refused, seen, sound } from "./request-texts.ts";

export const framings: readonly Row[] = [
  sound("a length", post("Content-Length: 3\r\n", `abc${next}`), seen("abc"), nextSeen),
  sound("a length of zero", post("Content-Length: 0\r\n", next), seen(""), nextSeen),
  sound("leading zeros", post(`Content-Length: ${"0".repeat(64)}3\r\n`, "abc"), seen("abc")),
  sound("blanks around the digits", post("Content-Length: \t 3 \t\r\n", "abc"), seen("abc")),
  sound("a length in capitals", post("CONTENT-LENGTH: 3\r\n", "abc"), seen("abc")),
  sound("a name that is no length", post("Content_Length: 3\r\n", next), seen(""), nextSeen),
  sound("a body that has only begun", post("Content-Length: 3\r\n", "ab"), "a body"),
  sound("a body that looks like a request", post(`Content-Length: ${next.length}\r\n`, next), seen(next)),
  sound("the last length of 63 bits", post("Content-Length: 9223372036854775807\r\n", "ab"), "a body"),
  ...[
    "",
    " ",
    "+3",
    "-3",
    "-0",
    "3.0",
    "3e0",
    "0x3",
    "0o3",
    "3a",
    "3;q",
    '"3"',
    "3,3",
    "3, 3",
    ",3",
    "3,",
    "3 3",
    "3\t3",
    "3_0",
    "3 (bytes)",
    "\xb2",
    "\xd9\xa2",
    "\xa03",
    "three",
    "1".repeat(20),
    "9".repeat(1_000),
  ].map((value) =>
    refused(`length ${JSON.stringify(value)}`, post(`Content-Length: ${value}\r\n`, "abc"), "CONTENT_LENGTH"),
  ),
  refused("two lengths", post("Content-Length: 3\r\nContent-Length: 4\r\n", "abc"), "CONTENT_LENGTH"),
  refused("two equal lengths", post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"), "CONTENT_LENGTH"),
  refused("two lengths in two casings", post("Content-Length: 3\r\ncontent-length: 3\r\n", "abc"), "CONTENT_LENGTH"),
  refused("CL.TE", post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nG"), "CONTENT_LENGTH"),
  refused("TE.CL", post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "5c\r\nGP"), "CONTENT_LENGTH"),
  refused(
    "TE.CL with zero",
    post("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", "0\r\n\r\n"),
    "CONTENT_LENGTH",
  ),
  sound("chunks", chunked(`3\r\nabc\r\n0\r\n\r\n${next}`), seen("abc"), nextSeen),
  sound("mixed casing", post("tRANSFER-eNCODING: cHuNkEd\r\n", "0\r\n\r\n"), seen("")),
  sound("blanks around chunked", post("Transfer-Encoding:  chunked \r\n", "0\r\n\r\n"), seen("")),
  sound(
    "a coding below, which a later check refuses",
    post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
    seen(""),
  ),
  sound(
    "a coding below on a separate line",
    post("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    seen(""),
  ),
  sound("a name that is no coding", post("Transfer_Encoding: chunked\r\n", next), seen(""), nextSeen),
  ...[
    "",
    "identity",
    "gzip",
    "chunke",
    "xchunked",
    "chunkedx",
    "chunked chunked",
    "'chunked'",
    '"chunked"',
    "<chunked>",
    "chunked;q=1",
    "chunked;",
    "chunked (x)",
    ": chunked",
    "=chunked",
    "\xa0chunked",
    "chunked\xa0",
    "chunked\xff",
    "%63hunked",
    "chun\xe2\x84\xaaed",
    "chunked, identity",
    "chunked, gzip",
    "chunked,",
    "chunked, chunked",
    "chunked,gzip,chunked",
    "chunked,chunked,chunked",
  ].map((value) =>
    refused(
      `coding ${JSON.stringify(value)}`,
      post(`Transfer-Encoding: ${value}\r\n`, "0\r\n\r\n"),
      "TRANSFER_ENCODING",
    ),
  ),
  refused(
    "chunked on two lines",
    post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    "TRANSFER_ENCODING",
  ),
  refused(
    "another coding after it, on a separate line",
    post("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", "0\r\n\r\n"),
    "TRANSFER_ENCODING",
  ),
];

const chunkFaults = {
  malformed: "CHUNK_SIZE",
  "line feed alone": "HPE_CR_EXPECTED",
  "size too long": "CHUNK_SIZE",
  "extensions too long": "HPE_CHUNK_EXTENSIONS_OVERFLOW",
  "malformed trailer": "HEADER_TOKEN",
} as const;

export const chunks: readonly Row[] = [
  ...soundChunks.map(([name, body, data]) => sound(name, chunked(`${body}${next}`), seen(data), nextSeen)),
  sound("no last chunk yet", chunked("3\r\nabc\r\n"), "a body"),
  sound("no end of the trailers yet", chunked("0\r\n"), "a body"),
  sound("the largest size that can be counted", chunked("1fffffffffffff\r\nab"), "a body"),
  ...faultyChunks.map(([name, fault, upToIt]): Row => {
    const text = chunked(`${upToIt}\r\nmore`);
    return fault === "trailers too long"
      ? [name, text, ["431 HPE_HEADER_OVERFLOW"]]
      : refused(name, text, chunkFaults[fault]);
  }),
];
