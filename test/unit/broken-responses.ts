/** Bytes from a service that are only a part of a response, or no response at all. */
import { faultyChunks } from "./corpus/chunked-bodies.ts";
import { chunked, early, headOf, ok, sized, x } from "./whole-responses.ts";

/** Incomplete responses: their connection must not end here. */
export const cut: readonly (readonly [title: string, bytes: string])[] = [
  ["nothing", ""],
  ["empty lines", "\r\n\r\n"],
  ["a letter", "H"],
  ["half a version", "HTTP/1."],
  ["half a status", "HTTP/1.1 20"],
  ["half a reason", "HTTP/1.1 200 O"],
  ["half a line end", "HTTP/1.1 200 OK\r"],
  ["a status line", ok],
  ["half a name", `${ok}Content-Le`],
  ["half a value", `${ok}Content-Length: 2`],
  ["a head without its end", sized],
  ["a head with half of its end", `${sized}\r`],
  ["a head alone", `${sized}\r\n`],
  ["half a body", `${sized}\r\n{`],
  ["an interim response alone", early],
  ["half an interim response", "HTTP/1.1 103 Early\r\nLink"],
  ["a head of chunks", chunked],
  ["half a size", `${chunked}2`],
  ["a size", `${chunked}2\r\n`],
  ["half a chunk", `${chunked}2\r\n{`],
  ["a chunk without its end", `${chunked}2\r\n{}`],
  ["a chunk with half of its end", `${chunked}2\r\n{}\r`],
  ["a chunk", `${chunked}2\r\n{}\r\n`],
  ["half an extension", `${chunked}2;a=`],
  ["a last chunk alone", `${chunked}2\r\n{}\r\n0\r\n`],
  ["a last chunk with half of the end", `${chunked}2\r\n{}\r\n0\r\n\r`],
  ["half a trailer", `${chunked}2\r\n{}\r\n0\r\nX: 1`],
  ["a trailer without the end", `${chunked}2\r\n{}\r\n0\r\nX: 1\r\n`],
];

const chunkFaults = {
  malformed: "CHUNK_MALFORMED",
  "line feed alone": "CHUNK_MALFORMED",
  "size too long": "CHUNK_TOO_LONG",
  "extensions too long": "CHUNK_EXTENSIONS_TOO_LONG",
  "malformed trailer": "TRAILER_MALFORMED",
  "trailers too long": "TRAILERS_TOO_LONG",
} as const;
const lengthAndChunks = "LENGTH_AND_TRANSFER_ENCODING";
const inChunks = "2\r\n{}\r\n0\r\n\r\n";
const of = (status: string, lines: string) => `HTTP/1.1 ${status}\r\n${lines}\r\n\r\n`;

/** A refused response that is its own title. */
const as = (code: string, bytes: string) => [code, JSON.stringify(bytes), bytes] as const;

/** Responses that are refused, with the code of the refusal. */
export const refused: readonly (readonly [code: string, title: string, bytes: string])[] = [
  ...[
    ...["\0", "<html>", "{}", "\x16\x03\x01\x02\0", "\0\0\x12\x04\0\0\0\0\0", "220 mail ESMTP\r\n", "SSH-2.0-x\r\n"],
    ...["POST / HTTP/1.1\r\n\r\n", ` ${ok}`, "HTTP/2.0 200 OK\r\n\r\n", "HTTP/2 200\r\n\r\n"],
    ...["HTTP/0.9 200 OK\r\n\r\n", "HTTP/1.2 200 OK\r\n\r\n", "HTTP/1.10 200 OK\r\n\r\n", "HTTP/01.1 200 OK\r\n\r\n"],
    ...["HTTP/1 200 OK\r\n\r\n", "http/1.1 200 OK\r\n\r\n", "RTSP/1.0 200 OK\r\n\r\n", "ICY 200 OK\r\n\r\n"],
    ...["HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1\t200 OK\r\n\r\n", "HTTP/1.1 OK\r\n\r\n", "HTTP/1.1\r\n\r\n"],
    ...["HTTP/1.1 2OO OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n"],
    ...["HTTP/1.1 -20 OK\r\n\r\n", "HTTP/1.1 200OK\r\n\r\n", "HTTP/1.1 200\tOK\r\n\r\n", "HTTP/1.1 200 O\0K\r\n\r\n"],
    ...["HTTP/1.1 200 O\rK\r\n\r\n", "HTTP/1.1 200\rOK\r\n\r\n", "HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\n{}"],
    ...["HTTP/1.1 200\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 200 \x7f\r\n\r\n", `${early}junk`],
    ...[`HTTP/1.1 100 Continue\n\n${ok}\r\n`, `HTTP/1.1 100 Go\r\nContent-Length: 2\r\n\r\n{}${ok}\r\n`],
    ...[`${early}HTTP/2.0 200 OK\r\n\r\n`],
  ].map((bytes) => as("NOT_HTTP_1_1", bytes)),
  ["UPGRADE_NOT_ASKED_FOR", "a 101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"],
  ["UPGRADE_NOT_ASKED_FOR", "a 101 without a reason", "HTTP/1.1 101\r\n\r\n"],
  ["UPGRADE_NOT_ASKED_FOR", "a 101 behind a 103", `${early}HTTP/1.1 101 Switching\r\n\r\n`],

  ...[
    ...[`${ok}Content-Length 2\r\n\r\n{}`, `${ok}: 2\r\n\r\n`, `${ok}Content-Length : 2\r\n\r\n{}`],
    ...[`${ok}X\t: 2\r\n\r\n{}`, `${ok} X: 2\r\n\r\n`, `${ok}X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}`],
    ...[`${ok}X: a\r\n\tb\r\nContent-Length: 2\r\n\r\n{}`, `${ok}Content-Length:\r\n 2\r\n\r\n{}`],
    ...[`${ok}Content-Length: 2\r\n \r\n\r\n{}`, `${ok}X\0: b\r\n\r\n`],
    ...[`${ok}X: b\0c\r\nContent-Length: 2\r\n\r\n{}`, `${ok}X: b\rc\r\nContent-Length: 2\r\n\r\n{}`],
    ...[`${ok}X: b\r\r\nContent-Length: 2\r\n\r\n{}`, `${ok}X: b\nContent-Length: 2\r\n\r\n{}`],
    ...[`${ok}X: b\rContent-Length: 2\r\n\r\n{}`, `${ok}X: \x1b[2J\r\n\r\n`, `${ok}X: \x7f\r\n\r\n`],
    ...[`${ok}X\x7f: 1\r\n\r\n`, `${ok}X\xe9: 1\r\n\r\n`, `${ok}"X": 1\r\n\r\n`, `${ok}a/b: 1\r\n\r\n`],
    ...[`${ok}(x): 1\r\n\r\n`, `${ok}a b: 1\r\n\r\n`, `${ok}${ok}Content-Length: 2\r\n\r\n{}`],
    ...["HTTP/1.1 204 No\r\nX\r\n\r\n"],
  ].map((bytes) => as("HEADER_LINE_MALFORMED", bytes)),
  ["INTERIM_RESPONSE_MALFORMED", "a bare CR in an interim line", `HTTP/1.1 103 A\r\nX: A\rB\r\n\r\n${sized}\r\n{}`],
  ["INTERIM_RESPONSE_MALFORMED", "no colon in an interim line", `HTTP/1.1 103 A\r\nX\r\n\r\n${sized}\r\n{}`],

  ["HEAD_TOO_LONG", "one byte over 16 KiB", headOf(16_385)],
  ["HEAD_TOO_LONG", "one line of 20 KB", `${ok}X: ${x(20_000)}`],
  ["HEAD_TOO_LONG", "a name of 20 KB", `${ok}${x(20_000)}`],
  ["HEAD_TOO_LONG", "a reason of 20 KB", `HTTP/1.1 200 ${x(20_000)}`],
  ["HEAD_TOO_LONG", "many lines", `${ok}${"X: 1\r\n".repeat(3_000)}`],
  ["HEAD_TOO_LONG", "a long 304", `HTTP/1.1 304 Same\r\n${x(17_000)}`],
  ["HEAD_TOO_LONG", "a long interim response", `HTTP/1.1 103 Early\r\nX: ${x(17_000)}\r\n\r\n`],
  ["INTERIM_RESPONSES_TOO_LONG", "two thousand interim responses", early.repeat(2_000)],
  ["INTERIM_RESPONSES_TOO_LONG", "one empty line more than 64 KiB", "\r\n".repeat(32_769)],

  ["CONTENT_LENGTH_REPEATED", "two lengths", `${sized}Content-Length: 20\r\n\r\n{}`],
  ["CONTENT_LENGTH_REPEATED", "the same length twice", `${sized}content-length: 2\r\n\r\n{}`],
  ["CONTENT_LENGTH_REPEATED", "a length and none", `${sized}Content-Length:\r\n\r\n{}`],
  ...[
    ...[`${ok}Content-Length: 2, 2\r\n\r\n{}`, `${ok}Content-Length:\r\n\r\n{}`],
    ...[`${ok}Content-Length: two\r\n\r\n{}`, `${ok}Content-Length: -2\r\n\r\n{}`],
    ...[`${ok}Content-Length: +2\r\n\r\n{}`, `${ok}Content-Length: 0x2\r\n\r\n{}`],
    ...[`${ok}Content-Length: 2.0\r\n\r\n{}`, `${ok}Content-Length: 2e0\r\n\r\n{}`],
    ...[`${ok}Content-Length: 2 2\r\n\r\n{}`, `${ok}Content-Length: \xb2\r\n\r\n{}`],
    ...[`${ok}Content-Length: 18446744073709551616\r\n\r\n{}`, `${ok}Content-Length: 18446744073709551618\r\n\r\n{}`],
    ...[`${ok}Content-Length: 1000000000000000\r\n\r\n{}`, `${ok}Connection: close\r\nContent-Length: x\r\n\r\n{}`],
  ].map((bytes) => as("CONTENT_LENGTH_MALFORMED", bytes)),
  // Also in a response without a body, a bad length shows that its sender, or a server before it, is unsound (RFC 9110 section 8.6).
  ...["204 No", "304 Same", "103 Early"].flatMap((status): [string, string, string][] => [
    ["CONTENT_LENGTH_REPEATED", `two lengths of a ${status}`, of(status, "Content-Length: 0\r\nContent-Length: 0")],
    ["CONTENT_LENGTH_MALFORMED", `a list of lengths of a ${status}`, of(status, "Content-Length: 0, 0")],
    ["CONTENT_LENGTH_MALFORMED", `a bad length of a ${status}`, of(status, "Content-Length: x")],
    [
      lengthAndChunks,
      `a length and chunks of a ${status}`,
      of(status, "Content-Length: 0\r\nTransfer-Encoding: chunked"),
    ],
  ]),
  [lengthAndChunks, "chunks behind a length", `${sized}Transfer-Encoding: chunked\r\n\r\n${inChunks}`],
  [
    lengthAndChunks,
    "a length behind chunks",
    `${ok}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n${inChunks}`,
  ],
  [lengthAndChunks, "another coding and a length", `${sized}Transfer-Encoding: gzip\r\n\r\n{}`],
  [lengthAndChunks, "an empty coding and a length", `${sized}Transfer-Encoding:\r\n\r\n{}`],
  [lengthAndChunks, "chunks and two lengths", `${sized}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n`],

  ...faultyChunks.map(([title, fault, upToIt]) => [chunkFaults[fault], title, `${chunked}${upToIt}\r\nmore`] as const),
];
