/**
 * Rows 1 to 5: what bytes are a request, and which one. Every row is read whole and cut at every byte, with the same result: a
 * head and a body, or one code of what is wrong.
 */
import { describe, expect, it } from "vitest";
import { RequestBody } from "../../src/adapters/http-server/read-body.ts";
import { HeadReader } from "../../src/adapters/http-server/request-reader.ts";
import { ProxyError } from "../../src/model/errors.ts";

const buffer = { reserve: () => {}, onEvicted: () => {} };
const bodyBytes = 262_144;

/** Every request in the bytes, as `method target version: body`; then what is wrong or what has begun. */
function read(pieces: readonly Buffer[]): string[] {
  const seen: string[] = [];
  const heads = new HeadReader();
  let request: { readonly line: string; readonly body: RequestBody } | undefined;
  try {
    for (const piece of pieces) {
      for (let position = 0; position < piece.length; ) {
        if (request === undefined) {
          const head = heads.read(piece, position);
          position = heads.position;
          if (head === undefined) continue;
          const line = `${head.method} ${head.target} ${head.version}`;
          request = { line, body: new RequestBody(head, bodyBytes) };
        } else {
          position = request.body.read(piece, position);
        }
        if (!request.body.isComplete) continue;
        seen.push(`${request.line}: ${Buffer.from(request.body.whole(buffer) as Uint8Array).toString("latin1")}`);
        request = undefined;
      }
    }
    if (request !== undefined) seen.push("a body");
    else if (heads.hasBegun) seen.push("a head");
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    seen.push(`${error.status} ${error.causedBy}`);
  }
  return seen;
}

function expectSeen(text: string, expected: readonly string[]): void {
  const bytes = Buffer.from(text, "latin1");
  expect(read([bytes]), JSON.stringify(text.slice(0, 300))).toEqual(expected);
  const step = Math.max(1, Math.floor(bytes.length / 500));
  for (let at = 1; at < bytes.length; at += step) {
    expect(read([bytes.subarray(0, at), bytes.subarray(at)]), `cut at ${at}: ${JSON.stringify(text)}`).toEqual(
      expected,
    );
  }
  if (bytes.length > 2_000) return;
  expect(read([...bytes].map((byte) => Buffer.of(byte))), `byte by byte: ${JSON.stringify(text)}`).toEqual(expected);
}

const next = "GET /next HTTP/1.1\r\n\r\n";
const nextSeen = "GET /next 1.1: ";
const post = (lines: string, body = "") => `POST /a HTTP/1.1\r\n${lines}\r\n${body}`;
const sound = (name: string, text: string, ...expected: string[]) => [name, text, expected] as const;
const refused = (name: string, text: string, fault: string) =>
  [name, text, [fault.startsWith("HPE") ? `400 ${fault}` : `400 HPE_INVALID_${fault}`]] as const;
const line = (bytes: string) => `${bytes}\r\nHost: a\r\n\r\n`;
const header = (bytes: string) => post(`Host: a\r\n${bytes}`);
const chunked = (body: string) => post("Transfer-Encoding: chunked\r\n", body);
const seen = (body: string) => `POST /a 1.1: ${body}`;

type Row = readonly [name: string, text: string, expected: readonly string[]];

const requestLines: readonly Row[] = [
  sound("the shortest", "GET / HTTP/1.1\r\n\r\n", "GET / 1.1: "),
  sound("HTTP/1.0", line("POST / HTTP/1.0"), "POST / 1.0: "),
  sound("HTTP/2.0, for others to refuse", line("POST / HTTP/2.0"), "POST / 2.0: "),
  sound("HTTP/0.9, for others to refuse", line("POST / HTTP/0.9"), "POST / 0.9: "),
  ...["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "M-SEARCH"].map((method) =>
    sound(method, line(`${method} /x HTTP/1.1`), `${method} /x 1.1: `),
  ),
  sound("two blanks before the target", line("POST  / HTTP/1.1"), "POST / 1.1: "),
  sound("three blanks before the version", line("POST /   HTTP/1.1"), "POST / 1.1: "),
  sound("an empty line first", `\r\n${next}`, nextSeen),
  sound("five empty lines first", `${"\r\n".repeat(5)}${next}`, nextSeen),
  sound("nothing but empty lines", "\r\n\r\n"),
  sound("nothing but a carriage return", "\r"),
  sound("a thousand empty lines", "\r\n".repeat(1_000) + next, nextSeen),
  sound("origin-form with a query", line("POST /a/b?c=d&e HTTP/1.1"), "POST /a/b?c=d&e 1.1: "),
  sound("origin-form with every printable character", line(`POST /${ascii()} HTTP/1.1`), `POST /${ascii()} 1.1: `),
  sound("absolute-form", line("POST http://a.b:80/c HTTP/1.1"), "POST http://a.b:80/c 1.1: "),
  sound("absolute-form without a path", line("POST http://a.b HTTP/1.1"), "POST http://a.b 1.1: "),
  sound("absolute-form with a query behind the host", line("POST http://a?b HTTP/1.1"), "POST http://a?b 1.1: "),
  sound("absolute-form of IPv6", line("POST http://[::1]:8/ HTTP/1.1"), "POST http://[::1]:8/ 1.1: "),
  sound("absolute-form with user information", line("POST http://u:p@h/ HTTP/1.1"), "POST http://u:p@h/ 1.1: "),
  sound("absolute-form without a host", line("POST http:///x HTTP/1.1"), "POST http:///x 1.1: "),
  sound("asterisk-form", line("OPTIONS * HTTP/1.1"), "OPTIONS * 1.1: "),
  sound("authority-form of CONNECT", line("CONNECT a.b:443 HTTP/1.1"), "CONNECT a.b:443 1.1: "),
  sound(
    "CONNECT with a length, which is none",
    `${"CONNECT a:1 HTTP/1.1\r\nContent-Length: 9\r\n\r\n"}${next}`,
    "CONNECT a:1 1.1: ",
    nextSeen,
  ),
  sound("a head that has only begun", "POST / HT", "a head"),
  sound("one letter", "P", "a head"),
  sound("a head without its empty line", "POST / HTTP/1.1\r\nHost: a\r\n", "a head"),
  refused("no method", line(" / HTTP/1.1"), "METHOD"),
  refused("nothing but a method", "POST\r\n\r\n", "METHOD"),
  refused("a method in small letters", line("post / HTTP/1.1"), "METHOD"),
  refused("a method of mixed case", line("Post / HTTP/1.1"), "METHOD"),
  refused("an unknown method", line("BREW / HTTP/1.1"), "METHOD"),
  refused("a method that begins like one", line("POSTAL / HTTP/1.1"), "METHOD"),
  refused("half a method", line("POS / HTTP/1.1"), "METHOD"),
  refused("Icecast's method", line("SOURCE / HTTP/1.1"), "METHOD"),
  refused("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "METHOD"),
  refused("a method of RTSP", line("DESCRIBE / HTTP/1.1"), "METHOD"),
  refused("a blank first", line(" POST / HTTP/1.1"), "METHOD"),
  refused("a tab first", line("\tPOST / HTTP/1.1"), "METHOD"),
  refused("a NUL first", line("\0POST / HTTP/1.1"), "METHOD"),
  refused("a NUL in the method", line("PO\0ST / HTTP/1.1"), "METHOD"),
  refused("a byte order mark first", line("\xef\xbb\xbfPOST / HTTP/1.1"), "METHOD"),
  refused("a colon behind the method", line("POST: / HTTP/1.1"), "METHOD"),
  refused("an answer", "HTTP/1.1 200 OK\r\n\r\n", "METHOD"),
  refused("a hello of TLS", "\x16\x03\x01\x02\x00\x01", "METHOD"),
  refused("a greeting of SMTP", "EHLO a\r\n", "METHOD"),
  refused("a tab behind the method", line("POST\t/ HTTP/1.1"), "METHOD"),
  refused("a carriage return behind the method", line("POST\r / HTTP/1.1"), "METHOD"),
  refused("a line feed first", `\n${next}`, "HPE_CR_EXPECTED"),
  refused("an empty line of a line feed", `\r\n\n${next}`, "HPE_CR_EXPECTED"),
  refused("two carriage returns first", `\r\r\n${next}`, "METHOD"),
  refused("no target", line("POST HTTP/1.1"), "URL"),
  refused("no target, but its blanks", line("POST  HTTP/1.1"), "URL"),
  refused("no version", line("POST /"), "URL"),
  refused("no version, but its blank", line("POST / "), "URL"),
  refused("a target without a slash", line("POST a HTTP/1.1"), "URL"),
  refused("an authority of another method", line("POST a:80 HTTP/1.1"), "URL"),
  refused("a target that is a backslash", line("POST \\ HTTP/1.1"), "URL"),
  refused("a query alone", line("POST ?a HTTP/1.1"), "URL"),
  refused("a fragment alone", line("POST #a HTTP/1.1"), "URL"),
  refused("dots alone", line("POST ../a HTTP/1.1"), "URL"),
  refused("a scheme with one slash", line("POST http:/a HTTP/1.1"), "URL"),
  refused("a scheme with backslashes", line("POST http:\\\\a HTTP/1.1"), "URL"),
  refused("a scheme with a digit", line("POST h2://a HTTP/1.1"), "URL"),
  refused("no scheme", line("POST ://a HTTP/1.1"), "URL"),
  ...[...'"#<>\\^`{|}'].map((character) =>
    refused(`${character} in a host`, line(`POST http://a${character}/ HTTP/1.1`), "URL"),
  ),
  ...["\0", "\x01", "\t", "\x0b", "\x0c", "\x1b", "\x7f", "\x80", "\xa0", "\xff"].map((character) =>
    refused(`${JSON.stringify(character)} in a target`, line(`POST /a${character}b HTTP/1.1`), "URL"),
  ),
  refused("a path in CONNECT", line("CONNECT /a HTTP/1.1"), "URL"),
  refused("a carriage return in the target", line("POST /a\rb HTTP/1.1"), "HPE_CR_EXPECTED"),
  refused("a line feed in the target", line("POST /a\nb HTTP/1.1"), "HPE_CR_EXPECTED"),
  refused("two words too many", line("POST /a /b HTTP/1.1"), "URL"),
  ...[
    "HTTP/1",
    "HTTP/1.",
    "HTTP/1.10",
    "HTTP/01.1",
    "HTTP/11.1",
    "HTTP/1,1",
    "HTTP/A.1",
    "HTTP/7.1",
    "HTTP/1.2",
    "HTTP/3.0",
    "HTTP/",
  ].map((version) => refused(`version ${version}`, line(`POST / ${version}`), "VERSION")),
  ...["http/1.1", "HTTPS/1.1", "ICE/1.0", "HTTP\\1.1", "HTTP", "RTSP/1.0"].map((version) =>
    refused(`protocol ${version}`, line(`POST / ${version}`), "URL"),
  ),
  refused("a letter behind the version", line("POST / HTTP/1.1x"), "VERSION"),
  refused("a blank behind the version", line("POST / HTTP/1.1 "), "URL"),
  refused("a tab behind the version", line("POST / HTTP/1.1\t"), "VERSION"),
  refused("another version behind it", line("POST / HTTP/1.1 HTTP/1.1"), "URL"),
  refused("a line feed behind the version", "POST / HTTP/1.1\nHost: a\r\n\r\n", "HPE_CR_EXPECTED"),
  refused("a carriage return behind the version", "POST / HTTP/1.1\rHost: a\r\n\r\n", "HPE_CR_EXPECTED"),
  refused("two carriage returns behind the version", "POST / HTTP/1.1\r\r\nHost: a\r\n\r\n", "HPE_CR_EXPECTED"),
];

const headerLines: readonly Row[] = [
  sound("none", post("") + next, seen(""), nextSeen),
  sound("an empty value", header("X:\r\n"), seen("")),
  sound("a value of blanks", header("X: \t \r\n"), seen("")),
  sound("no blank", header("X:y\r\n"), seen("")),
  sound("tabs around and within", header("X:\ta\tb\t\r\n"), seen("")),
  sound("every byte that a value may have", header(`X: ${ascii()} ${high()}\r\n`), seen("")),
  sound("every character that a name may have", header("!#$%&'*+-.^_`|~09Az: 1\r\n"), seen("")),
  sound("a colon in a value", header("X: a:b\r\n"), seen("")),
  sound("five hundred lines", header("X: y\r\n".repeat(500)), seen("")),
  sound("many with one name", header("Host: b\r\nHost: c\r\n"), seen("")),
  refused("no colon", header("X\r\n"), "HEADER_TOKEN"),
  refused("no name", header(": y\r\n"), "HEADER_TOKEN"),
  refused("a colon alone", header(":\r\n"), "HEADER_TOKEN"),
  refused("a blank before the colon", header("X : y\r\n"), "HEADER_TOKEN"),
  refused("a tab before the colon", header("X\t: y\r\n"), "HEADER_TOKEN"),
  refused("a blank in the name", header("X Y: z\r\n"), "HEADER_TOKEN"),
  refused("a blank before the first name", post(" X: y\r\n"), "HEADER_TOKEN"),
  refused("a folded line", header("X: y\r\n z\r\n"), "HEADER_TOKEN"),
  refused("a line folded by a tab", header("X: y\r\n\tz\r\n"), "HEADER_TOKEN"),
  refused("a folded line of blanks", header("X: y\r\n \r\n"), "HEADER_TOKEN"),
  refused("a request line among them", header("POST / HTTP/1.1\r\n"), "HEADER_TOKEN"),
  ...[...'"(),/;<=>?@[\\]{}\0\x01\x7f\x80\xff'].map((character) =>
    refused(`${JSON.stringify(character)} in a name`, header(`X${character}Y: z\r\n`), "HEADER_TOKEN"),
  ),
  ...["\0", "\x01", "\x07", "\x08", "\x0b", "\x0c", "\x1b", "\x1f", "\x7f"].flatMap((character) => [
    refused(`${JSON.stringify(character)} in a value`, header(`X: a${character}b\r\n`), "HEADER_TOKEN"),
    refused(`${JSON.stringify(character)} at the end of a value`, header(`X: a${character}\r\n`), "HEADER_TOKEN"),
  ]),
  refused("a carriage return in a value", header("X: a\rY: b\r\n"), "HEADER_TOKEN"),
  refused("a carriage return at the start of a value", header("X:\r y\r\n"), "HEADER_TOKEN"),
  refused("two carriage returns behind a value", header("X: y\r\r\n"), "HEADER_TOKEN"),
  refused("a line feed in a value", header("X: a\nY: b\r\n"), "HPE_CR_EXPECTED"),
  refused("a line feed behind a value", header("X: a\n"), "HPE_CR_EXPECTED"),
  refused("a line feed for the empty line", "POST / HTTP/1.1\r\nX: y\r\n\n", "HPE_CR_EXPECTED"),
  refused("line feed and carriage return", "POST / HTTP/1.1\r\nX: y\n\r\n\r", "HPE_CR_EXPECTED"),
  refused("a carriage return before the empty line", "POST / HTTP/1.1\r\nX: y\r\n\r\r\n", "HEADER_TOKEN"),
  ["a head of 16 KiB", headOf(16_384), ["POST /a 1.1: "]],
  ["a head of one byte more", headOf(16_385), ["431 HPE_HEADER_OVERFLOW"]],
  ["a head of 40 KiB", headOf(40_000), ["431 HPE_HEADER_OVERFLOW"]],
  ["a request line of 20 KiB", line(`POST /${"x".repeat(20_000)} HTTP/1.1`), ["431 HPE_HEADER_OVERFLOW"]],
  ["many lines of 20 KiB together", header("X: y\r\n".repeat(3_500)), ["431 HPE_HEADER_OVERFLOW"]],
];

const framings: readonly Row[] = [
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
    "\xb2",
    "\xa03",
    "three",
    "1".repeat(20),
    "1".repeat(30),
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
  sound("a coding below, for others to refuse", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), seen("")),
  sound(
    "a coding below on a line of its own",
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
    "another coding behind, on its own line",
    post("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", "0\r\n\r\n"),
    "TRANSFER_ENCODING",
  ),
];

const chunks: readonly Row[] = [
  sound("two chunks", chunked("1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"), seen("abc")),
  sound("leading zeros", chunked("0003\r\nabc\r\n000\r\n\r\n"), seen("abc")),
  sound(
    "hexadecimal in both casings",
    chunked(`a\r\n${"x".repeat(10)}\r\nA\r\n${"y".repeat(10)}\r\n0\r\n\r\n`),
    seen(`${"x".repeat(10)}${"y".repeat(10)}`),
  ),
  sound("an extension", chunked("3;a=b\r\nabc\r\n0;c\r\n\r\n"), seen("abc")),
  sound("a quoted extension", chunked('3;a="b;c"\r\nabc\r\n0\r\n\r\n'), seen("abc")),
  sound("line ends in the data", chunked("4\r\n\r\n\r\n\r\n0\r\n\r\n"), seen("\r\n\r\n")),
  sound("a trailer", chunked(`0\r\nX-Sum: 1\r\n\r\n${next}`), seen(""), nextSeen),
  sound("a trailer that would be a Host", chunked("0\r\nHost: b\r\n\r\n"), seen("")),
  sound("no last chunk yet", chunked("3\r\nabc\r\n"), "a body"),
  sound("no end of the trailers yet", chunked("0\r\n"), "a body"),
  sound("two thousand chunks of a byte", chunked(`${"1\r\nx\r\n".repeat(2_000)}0\r\n\r\n`), seen("x".repeat(2_000))),
  sound("the largest size that can be counted", chunked("1fffffffffffff\r\nab"), "a body"),
  ...[
    "",
    "g",
    "0x3",
    "+3",
    "-3",
    " 3",
    "3 ",
    "\t3",
    "3\t",
    "\x003",
    "3\0",
    "3\xb2",
    "3h",
    "3.0",
    "3,3",
    '"3"',
    "3 ;a",
    "3;a\0",
    "3;a\x7f",
    "3;a\x0b",
    "20000000000000",
    "000000000000003",
    "ffffffffffffffff",
    "10000000000000003",
  ].map((size) => refused(`size ${JSON.stringify(size)}`, chunked(`${size}\r\nabc\r\n0\r\n\r\n`), "CHUNK_SIZE")),
  refused("a line feed behind a size", chunked("3\nabc\r\n0\r\n\r\n"), "HPE_CR_EXPECTED"),
  refused("a carriage return behind a size", chunked("3\rabc\r\n0\r\n\r\n"), "CHUNK_SIZE"),
  refused("two carriage returns behind a size", chunked("3\r\r\nabc\r\n0\r\n\r\n"), "CHUNK_SIZE"),
  refused("a line feed in an extension", chunked("3;a\nabc\r\n0\r\n\r\n"), "HPE_CR_EXPECTED"),
  refused("an empty line before a size", chunked("\r\n3\r\nabc\r\n0\r\n\r\n"), "CHUNK_SIZE"),
  refused("a byte more than announced", chunked("2\r\nabc\r\n0\r\n\r\n"), "CHUNK_SIZE"),
  refused("a byte less than announced", chunked("4\r\nabc\r\n0\r\n\r\n"), "HPE_CR_EXPECTED"),
  refused("any two bytes behind a chunk", chunked("3\r\nabcXX0\r\n\r\n"), "CHUNK_SIZE"),
  refused("no line end behind a chunk", chunked("3\r\nabc0\r\n\r\n"), "CHUNK_SIZE"),
  refused("a blank behind a chunk", chunked("3\r\nabc \r\n0\r\n\r\n"), "CHUNK_SIZE"),
  refused("two line ends behind a chunk", chunked("3\r\nabc\r\n\r\n0\r\n\r\n"), "CHUNK_SIZE"),
  refused("a request for the last chunk", chunked(`3\r\nabc\r\n${next}`), "CHUNK_SIZE"),
  refused("a line feed behind a chunk", chunked("3\r\nabc\n0\r\n\r\n"), "HPE_CR_EXPECTED"),
  refused("a line feed behind the last size", chunked("0\n\r\n"), "HPE_CR_EXPECTED"),
  refused("a line feed behind the trailers", chunked("0\r\n\n"), "HPE_CR_EXPECTED"),
  refused("a line feed in a trailer", chunked("0\r\nX: a\nY: b\r\n\r\n"), "HPE_CR_EXPECTED"),
  refused("a trailer without a colon", chunked("0\r\nX\r\n\r\n"), "HEADER_TOKEN"),
  refused("a blank before a trailer's colon", chunked("0\r\nX : 1\r\n\r\n"), "HEADER_TOKEN"),
  refused("a folded trailer", chunked("0\r\nX: 1\r\n 2\r\n\r\n"), "HEADER_TOKEN"),
  refused("a NUL in a trailer", chunked("0\r\nX: \0\r\n\r\n"), "HEADER_TOKEN"),
  refused("a length in the trailers", chunked("0\r\nContent-Length: 1\r\n\r\n"), "HEADER_TOKEN"),
  refused("a coding in the trailers", chunked("0\r\ntransfer-encoding: x\r\n\r\n"), "HEADER_TOKEN"),
  refused("a request as a trailer", chunked(`0\r\n${next}`), "HEADER_TOKEN"),
  refused(
    "an extension of 20 KiB",
    chunked(`3;${"x".repeat(20_000)}\r\nabc\r\n0\r\n\r\n`),
    "HPE_CHUNK_EXTENSIONS_OVERFLOW",
  ),
  refused("a thousand digits", chunked(`${"f".repeat(1_000)}\r\nabc`), "CHUNK_SIZE"),
  refused(
    "extensions of 20 KiB together",
    chunked(`${`1;${"x".repeat(500)}\r\na\r\n`.repeat(40)}0\r\n\r\n`),
    "HPE_CHUNK_EXTENSIONS_OVERFLOW",
  ),
  ["a trailer of 20 KiB", chunked(`0\r\nX: ${"x".repeat(20_000)}\r\n\r\n`), ["431 HPE_HEADER_OVERFLOW"]],
  ["trailers of 20 KiB together", chunked(`0\r\n${"X: y\r\n".repeat(3_500)}\r\n`), ["431 HPE_HEADER_OVERFLOW"]],
];

/** Every printable character but the blank. */
function ascii(): string {
  return Array.from({ length: 0x7e - 0x20 }, (_, index) => String.fromCharCode(0x21 + index)).join("");
}

/** Every byte beyond ASCII. */
function high(): string {
  return Array.from({ length: 128 }, (_, index) => String.fromCharCode(0x80 + index)).join("");
}

/** A head of so many bytes in all. */
function headOf(bytes: number): string {
  const empty = post("X: \r\n");
  return post(`X: ${"x".repeat(bytes - empty.length)}\r\n`);
}

it("has rows enough to be worth its name", () => {
  const rows = [...requestLines, ...headerLines, ...framings, ...chunks];
  expect(rows.length).toBeGreaterThanOrEqual(200);
  expect(new Set(rows.map(([, text]) => text)).size).toBe(rows.length);
});

describe("the request line", () => {
  it.each(requestLines)("%s", (_, text, expected) => expectSeen(text, expected));
});
describe("header lines", () => {
  it.each(headerLines)("%s", (_, text, expected) => expectSeen(text, expected));
});
describe("how the body is framed", () => {
  it.each(framings)("%s", (_, text, expected) => expectSeen(text, expected));
});
describe("chunks", () => {
  it.each(chunks)("%s", (_, text, expected) => expectSeen(text, expected));
});

it("gives names and values as they came, in one flat list", () => {
  const head = new HeadReader().read(Buffer.from(header("x-A:  b \t\r\nC:\r\nx-a: \xe9\r\n"), "latin1"), 0);
  expect(head?.headers).toEqual(["Host", "a", "x-A", "b", "C", "", "x-a", "\xe9"]);
});

it.each([
  ["1.1", "", false],
  ["1.1", "Connection: close\r\n", true],
  ["1.1", "Connection: x, Close\r\n", true],
  ["1.1", "Connection: x\r\nConnection: close\r\n", true],
  ["1.1", "Connection: closed\r\n", false],
  ["1.0", "", true],
  ["1.0", "Connection: keep-alive\r\n", false],
  ["1.0", "Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n", true],
])("knows whether HTTP/%s with %j closes", (version, lines, closes) => {
  const head = new HeadReader().read(Buffer.from(`POST / HTTP/${version}\r\n${lines}\r\n`), 0);
  expect(head?.closes).toBe(closes);
});
