import { chunked, orderText, type RawPost, rawPost } from "../../../testkit/raw-caller.ts";
import { chunks as chunkTexts, framings } from "../../unit/corpus/request-bodies.ts";
import { headerLines, requestLines } from "../../unit/corpus/request-heads.ts";
import type { Row } from "../../unit/corpus/request-texts.ts";

/** The caller closes its side: no more bytes will come. */
export const hangsUp = Symbol("hangs up");
/** The caller sends nothing more, and stays connected. */
export const fallsSilent = Symbol("falls silent");

/** The caller waits until it has one answer for each of these steps so far. */
export const readsAnswer = Symbol("reads an answer");

/** Bytes (latin1) for one write, or an act of the caller other than writing. */
export type Step = string | typeof hangsUp | typeof fallsSilent | typeof readsAnswer;

/** The steps of a caller on one connection, and the statuses of all answers to it; a 200 is the service's. */
export type Case = readonly [name: string, steps: string | readonly Step[], statuses: readonly number[]];

/**
 * The request that a confused parser would find. It is well-formed and its operation is allowed, but no honest
 * request of the corpus calls that operation: a request that arrives there was smuggled.
 */
const hidden = rawPost({ target: "/get_order", body: '{"smuggled":"1"}' });

/** A well-formed order on a connection that ends with its answer: the last of a pipeline. */
const last = rawPost();

/** A well-formed order on a connection that stays open. */
const plain = rawPost({ connection: [] });
const length = Buffer.byteLength(orderText);
const chunks = chunked(orderText);
const chunkedFraming = ["Transfer-Encoding: chunked"];
const asChunks = { framing: chunkedFraming, body: chunks };

/** A POST that keeps its connection open, with these framing lines and this body. */
function framed(framing: readonly string[], body: string, more: readonly string[] = []): string {
  return rawPost({ connection: [], framing, body, more });
}

/** An order with this value of Content-Length, right or wrong. */
function ofLength(value: string): string {
  return framed([`Content-Length: ${value}`], orderText);
}

/** An order whose chunked body is written as given, with all its punctuation. */
function inChunks(body: string): string {
  return framed(chunkedFraming, body);
}

/** An order with these further header lines. */
const saying = (...more: string[]) => rawPost({ connection: [], more });

/** Every byte of a case, and the caller's other acts: different for each case. */
export function bytesOf([, steps]: Case): string {
  return typeof steps === "string" ? steps : steps.map(String).join("");
}

const hex = length.toString(16);
const end = "0\r\n\r\n";
/** The order as a chunk with this size line, the end of all chunks, and `behind` after it. */
const sized = (size: string, behind: string) => inChunks(`${size}\r\n${orderText}\r\n${end}${behind}`);
/** A well-formed chunk, then `rest` in place of the last chunk and everything after it. */
const ended = (rest: string) => inChunks(`${hex}\r\n${orderText}\r\n${rest}`);
const trailed = (lines: string) => ended(`0\r\n${lines}\r\n${last}`);

/** Chunked bodies (RFC 9112 7.1): where they end, and which parts are ignored. The reader's own corpus has those that it refuses. */
const chunkedBodies: readonly Case[] = [
  ["a size that wraps 32 bits to the right one", [sized(`1000000${hex}`, hidden), fallsSilent], [408]],
  ["a chunk that swallows a hidden request", inChunks(chunked(`${end}${hidden}`)), [400]],

  // Extensions: allowed, and ignored.
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

  // Trailers: ignored, whatever they say.
  ["a trailer", trailed("X-Sum: 1\r\n"), [200, 200]],
  ["a Host in the trailers", trailed("Host: evil.example\r\n"), [200, 200]],
  ["credentials in the trailers", trailed("Authorization: Bearer mine\r\nCookie: a=b\r\n"), [200, 200]],

  // Sound.
  ["a size with leading zeros", sized(`000000${hex}`, last), [200, 200]],
  ["a size in capitals", inChunks(`${hex.toUpperCase()}\r\n${orderText}\r\n0000\r\n\r\n${last}`), [200, 200]],
  ["a chunk for every byte", inChunks(`${orderText.replace(/./g, "1\r\n$&\r\n")}${end}${last}`), [200, 200]],
  ["every byte of the punctuation in a write of its own", [inChunks(""), ...chunks], [200]],
];

const own = `Content-Length: ${length}`;
const coding = "Transfer-Encoding: chunked";
const toHidden = `0\r\n\r\n${hidden}`;

/** Content-Length: alone, repeated, disguised, and beside Transfer-Encoding (RFC 9110 8.6, RFC 9112 6.2 and 6.3). */
const lengths: readonly Case[] = [
  // Beside Transfer-Encoding: the classic attacks rely on doubt about which of the two applies.
  ["CL.TE: the coding comes first", framed([coding, `Content-Length: ${toHidden.length}`], toHidden), [400]],
  ["both, shouted", framed(["CONTENT-LENGTH: 5", "TRANSFER-ENCODING: CHUNKED"], toHidden), [400]],

  // Repeated.
  ["the second length is zero", framed([own, "Content-Length: 0"], `${orderText}${hidden}`), [400]],
  ["lengths at both ends of the head", framed([own], orderText, ["X-Between: 1", "Content-Length: 2"]), [400]],

  // A disguised name: not a length, or not even a header line.
  ["a name with an underscore is no length", framed([`Content_Length: ${length}`], orderText), [400]],

  // A well-formed length that does not fit the body.
  ["absurd: more than any body may have", ofLength("4294967381"), [413]],
  ["absurd: the last one of 63 bits", ofLength("9223372036854775807"), [413]],
  ["one byte over the limit", ofLength("262145"), [413]],
  ["CL.0: no body; what follows is judged on its own", [framed(["Content-Length: 0"], last)], [400, 200]],
  ["0.CL: no framing at all means no body", framed([], last), [400, 200]],
  ["a length that covers a hidden request", framed([`Content-Length: ${hidden.length}`], hidden), [400]],
  ["a length that ends within the order", framed([`Content-Length: ${length - 1}`], orderText), [400]],
  ["a length that the caller does not fulfil", [ofLength(String(length + 1)), hangsUp], [400]],
  ["a length that the caller never fulfils", [ofLength("1000"), fallsSilent], [408]],
  ["a body that never begins", [framed([own], ""), fallsSilent], [408]],
  ["a caller that hangs up before the body", [framed([own], ""), hangsUp], [400]],

  // Odd to look at, but sound (RFC 9110 5.6.3: OWS; 8.6: 1*DIGIT).
  ["no blank before the digits", framed([`Content-Length:${length}`], orderText), [200]],
  ["blanks around the digits", ofLength(`   ${length}   `), [200]],
  ["sixty-four leading zeros", ofLength(`${"0".repeat(64)}${length}`), [200]],
  ["a body that comes in three pieces", [framed([own], ""), orderText.slice(0, 9), orderText.slice(9)], [200]],
];

const both = (coding: string) => framed([coding, `Content-Length: ${length}`], orderText);
/** An order in chunks with these lines for the coding, and a hidden request behind it. */
const under = (...lines: string[]) => framed(lines, `${chunks}${hidden}`);
const coded = (value: string) => under(`Transfer-Encoding: ${value}`);

/** Transfer-Encoding in every disguise (RFC 9112 6.1 and 6.3): twice (TE.TE), or seen by one side only. */
const transferCodings: readonly Case[] = [
  // Chunked is last, but the coding below it is one that we cannot read: refused like a compressed body.
  ["gzip below chunked", coded("gzip, chunked"), [415]],
  ["identity below chunked", coded("identity, chunked"), [415]],
  ["deflate below chunked, on two lines", under("Transfer-Encoding: deflate", "Transfer-Encoding: chunked"), [415]],
  ["a made-up coding below chunked", coded("x, chunked"), [415]],

  // Not a Transfer-Encoding at all: Content-Length applies, and the line is not passed on.
  ["a name with an underscore", both("Transfer_Encoding: chunked"), [200]],
  ["a name with a prefix", both("X-Transfer-Encoding: chunked"), [200]],
  ["a name that only ends alike", both("Encoding: chunked"), [200]],
  ["in another header's value", both("X-Note: Transfer-Encoding: chunked"), [200]],
  ["escaped line ends in a value", both("X-Note: 1\\r\\nTransfer-Encoding: chunked"), [200]],
  ["TE, which is about answers", both("TE: chunked"), [200]],

  // Sound.
  ["chunked in mixed casing", framed(["tRANSFER-eNCODING: cHuNkEd"], `${chunks}${last}`), [200, 200]],
  ["chunked with blanks around", framed(["Transfer-Encoding:   chunked   "], `${chunks}${last}`), [200, 200]],
  ["chunked with no blank", framed(["Transfer-Encoding:chunked"], `${chunks}${last}`), [200, 200]],
];

/** A plain order with `line` in place of its request line. */
const starting = (line: string) => plain.replace("POST /create_order HTTP/1.1", line);
/** The last order with `line` before its Content-Type. */
const having = (line: string) => last.replace("Content-Type:", `${line}\r\nContent-Type:`);

/** The request line and the header lines (RFC 9112 2.2, 3 and 5). The reader's own corpus has those that it refuses line by line. */
const lines: readonly Case[] = [
  // The request line.
  ["a method of a thousand letters", starting(`${"P".repeat(1_000)} /create_order HTTP/1.1`), [400]],
  ["a PROXY protocol line", `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${plain}`, [400]],
  ["a PROXY protocol line, second version", `\r\n\r\n\0\r\nQUIT\n${plain}`, [400]],

  // The caller breaks off.
  ["nothing at all", [hangsUp], []],
  ["half a method", ["PO", hangsUp], [400]],
  ["half a request line", ["POST /create_or", hangsUp], [400]],
  ["half a head", [plain.slice(0, 60), hangsUp], [400]],
  ["a head without its empty line", [plain.slice(0, -length - 2), hangsUp], [400]],

  // Odd, but well-formed.
  // Allowed by RFC 9112 section 3: words separated by blanks.
  ["two blanks before the target", starting("POST  /create_order HTTP/1.1"), [200]],
  ["two blanks before the version", starting("POST /create_order  HTTP/1.1"), [200]],
  ["an empty line before the request", `\r\n${last}`, [200]],
  ["two empty lines before the request", `\r\n\r\n${last}`, [200]],
  ["an empty header value", having("X-Line:"), [200]],
  ["every character that a name may have", having("!#$%&'*+-.^_`|~09Az: 1"), [200]],
  ["bytes beyond ASCII in a value", having("X-Line: \xe4\x80\xff"), [200]],
  ["tabs in a value", having("X-Line: \ta\tb\t"), [200]],
  ["every byte in a write of its own", [...last], [200]],
  ["a hidden request in a value", having(`X-Line: ${hidden.replaceAll(/\s+/g, " ")}`), [200]],
];

const ofVersion = (version: string, given: RawPost = {}) => rawPost({ version, connection: [], ...given });
const settings = `${"\0".repeat(4)}\x04${"\0".repeat(4)}`;

/** Other versions and other protocols (RFC 9112 2.3; RFC 9110 2.5). */
const versions: readonly Case[] = [
  // Versions that are not HTTP/1.x.
  ["HTTP/0.9 with header lines", rawPost({ connection: [] }).replace(" HTTP/1.1", ""), [400]],
  ["HTTP/0.9 as the version", ofVersion("HTTP/0.9"), [400]],
  ["HTTP/2.0", ofVersion("HTTP/2.0"), [400]],
  ["HTTP/ 1.1", ofVersion("HTTP/ 1.1"), [400]],

  // HTTP/1.0.
  // In HTTP/1.0 a coding is faulty framing: the connection must close (RFC 9112 6.1), so nothing behind it is served.
  ["HTTP/1.0 and a Transfer-Encoding", `${ofVersion("HTTP/1.0", asChunks)}${hidden}`, [200]],
  ["HTTP/1.0 keeps no connection", `${ofVersion("HTTP/1.0")}${hidden}`, [200]],
  ["HTTP/1.0 and keep-alive", `${ofVersion("HTTP/1.0", { more: ["Connection: keep-alive"] })}${last}`, [200, 200]],
  ["HTTP/1.0 cannot be told to continue", ofVersion("HTTP/1.0", { more: ["Expect: 100-continue"] }), [200]],

  // HTTP/2 without an upgrade.
  ["the preface of HTTP/2 with settings", `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${settings}`, [400]],
  ["the preface as HTTP/1.1", "PRI * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nSM\r\n\r\n", [400]],
  ["the preface behind an order", `${rawPost({ connection: [] })}PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`, [200]],
];

/** The last order is sent only when this one has its answer. */
const thenLast = (order: string): Step[] => [order, readsAnswer, last];
const http2Settings = "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA";
const toWebsocket = ["Upgrade: websocket", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: 13"];
const toH2c = rawPost({ connection: ["Connection: Upgrade"], more: ["Upgrade: h2c"] });
const chunkedToH2c = rawPost({ connection: ["Connection: Upgrade"], more: ["Upgrade: h2c"], ...asChunks });
const ofGet = "Host: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const toEvil = "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n";

/** The head of a well-formed order whose body is the bytes of another request; the next write has the body. */
const carrier = framed([`Content-Length: ${hidden.length}`], "");
const refusedUpgrade = rawPost({ connection: ["Connection: Upgrade"], more: ["Upgrade: websocket"], body: "{" });

/** Ways to leave HTTP/1.1, none of which Countersign takes (RFC 9110 7.8 and 9.3.6). */
const upgrades: readonly Case[] = [
  // Upgrade: ignored and stripped, and the order is served. The connection stays with HTTP/1.1, except for a caller that asks for WebSocket.
  ["to h2c", thenLast(saying("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", http2Settings)), [200, 200]],
  ["to h2c, and no Connection", `${saying("Upgrade: h2c")}${last}`, [200, 200]],
  ["to websocket", thenLast(saying("Connection: upgrade", ...toWebsocket)), [200]],
  ["to the protocol in use", thenLast(saying("Connection: Upgrade", "Upgrade: HTTP/1.1")), [200, 200]],
  ["with chunks", thenLast(chunkedToH2c), [200, 200]],
  ["with hidden frames", `${saying("Connection: Upgrade", "Upgrade: h2c")}\0\0\x04\x08\0\0\0\0\0`, [200]],
  ["an order behind it", `${toH2c}${last}`, [200, 200]],
  ["a body behind it that looks like a request", [`${toH2c}${carrier}`, readsAnswer, hidden], [200, 400]],
  ["an order behind one to websocket that is refused", `${refusedUpgrade}${last}`, [400]],
  ["on a GET", `GET /create_order HTTP/1.1\r\n${ofGet}`, [405]],

  // Tunnels.
  ["CONNECT", `${toEvil}\r\n${hidden}`, [405]],
  ["CONNECT to this very listener", `CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n${hidden}`, [405]],
  ["CONNECT with a length", `${toEvil}Content-Length: ${hidden.length}\r\n\r\n${hidden}`, [405]],
];

const expecting = (value: string) => saying(`Expect: ${value}`);
const continues = ["Expect: 100-continue"];
/** The head alone. */
const head = framed([`Content-Length: ${length}`], "", continues);

/** Expect, which is answered here and never forwarded (RFC 9110 10.1.1). */
const expectations: readonly Case[] = [
  ["Expect, its body at once", `${expecting("100-continue")}${last}`, [100, 200, 200]],
  ["Expect in capitals", `${expecting("100-CONTINUE")}${last}`, [100, 200, 200]],
  ["Expect, its body after the head", [head, readsAnswer, orderText], [100, 200]],
  ["Expect and a caller that hangs up", [head, hangsUp], [100, 400]],
  ["Expect and a caller that falls silent", [head, fallsSilent], [100, 408]],
  ["Expect with chunks", framed(["Transfer-Encoding: chunked"], `${chunks}${last}`, continues), [100, 200, 200]],
  ["an unknown expectation before a hidden request", `${expecting("y 100-continue")}${hidden}`, [417]],
  ["a prefix of the expectation", expecting("100-contin"), [417]],
  ["the expectation and more", expecting("100-continue-now"), [417]],
  ["an empty expectation", expecting(""), [417]],
  ["the expectation with a weight", expecting("100-continue;q=1"), [417]],
  ["the expectation with a comma", expecting("100-continue,"), [417]],
  ["the expectation in a list", expecting("x, 100-continue"), [417]],
  ["the expectation beside another", saying(...continues, "Expect: x"), [417]],
  ["the expectation with a high byte", expecting("100-continue\xa0"), [417]],
  ["the expectation twice is the expectation", saying(...continues, ...continues), [100, 200]],
];

const kept = (given: RawPost) => rawPost({ connection: [], ...given });
const chunkedOrder = kept(asChunks);
const inItsChunks = { framing: chunkedFraming, body: chunked(hidden) };
const foreign = kept({ host: ["Host: evil.example"], body: "{}" });
const foreignHidden = hidden.replace("Host: 127.0.0.1", "Host: evil.example");

/** Several requests on one connection (RFC 9112 9.3.2), and bytes within a request that look like another one. */
const pipelines: readonly Case[] = [
  // Well-formed: each is answered, in their order.
  ["two orders", `${plain}${last}`, [200, 200]],
  ["ten orders", `${plain.repeat(9)}${last}`, Array.from({ length: 10 }, () => 200)],
  ["chunks and lengths by turns", `${chunkedOrder}${plain}${chunkedOrder}${last}`, [200, 200, 200, 200]],
  ["an empty line between two", `${plain}\r\n${last}`, [200, 200]],
  ["the second cut within its request line", [`${chunkedOrder}POS`, last.slice(3)], [200, 200]],
  ["the third cut within its line ends", [`${plain}${plain}${last.slice(0, 28)}`, last.slice(28)], [200, 200, 200]],
  ["a refused order between two", `${plain}${kept({ body: '{"order_amount":"1.005"}' })}${last}`, [200, 422, 200]],
  ["a hidden request behind an unread body", `${plain}${foreign}${hidden}`, [200, 403]],

  // A request within a body is a body.
  ["a hidden request in a string of the order", kept({ body: `{"note":"${hidden.replaceAll('"', "'")}"}` }), [400]],
  ["a hidden request, escaped, in a string", kept({ body: JSON.stringify({ note: orderText }) }), [200]],
  ["a hidden request behind the order, in its length", kept({ body: `${orderText}${hidden}` }), [400]],
  ["a hidden request behind the order, in its chunk", framed(chunkedFraming, chunked(`${orderText}${hidden}`)), [400]],
  ["a hidden request in its own chunk", framed(chunkedFraming, `${chunks.slice(0, -5)}${chunked(hidden)}`), [400]],
  ...["GET", "PATCH", "TRACE", "OPTIONS"].map((method): Case => {
    return [`a hidden request as the body of ${method}`, kept({ method, body: hidden }), [405]];
  }),
  ["a hidden request as the chunks of DELETE", kept({ method: "DELETE", ...inItsChunks }), [405]],

  // After an answer that closes the connection nothing more is served (RFC 9112 9.6).
  ["a hidden request behind a closing order", `${last}${hidden}`, [200]],
  ["ten behind a closing order", `${last}${hidden.repeat(10)}`, [200]],
  ["a hidden request behind Connection: Close", `${rawPost({ connection: ["Connection: Close"] })}${hidden}`, [200]],
  ["a hidden request behind close in a list", `${rawPost({ connection: ["Connection: x, close"] })}${hidden}`, [200]],
  ["a hidden request behind a body that is too large", `${framed(["Content-Length: 300000"], hidden)}`, [413]],

  // Bytes behind a sound request.
  ["a foreign request behind an order", `${plain}${foreignHidden}`, [200, 403]],
  ["more than the length says", `${framed(["Content-Length: 2"], `{}${foreignHidden}`)}`, [200, 403]],
  ["a chunk behind the last chunk", `${chunkedOrder}${chunks}`, [200]],
  ["junk behind an order that is answered", [plain, readsAnswer, "BLAH blah\r\n\r\n"], [200, 400]],
  ["junk behind an order", `${plain}\x01\x02\x03`, [200]],
  ["an answer behind an order", `${plain}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`, [200]],
  ["a malformed request behind two orders", `${plain}${plain}${last.replace(" HTTP/1.1", " HTTP/7.1")}`, [200, 200]],
];

/** Rows that the reader refuses, each on an order that is well-formed otherwise, with a hidden request behind it. */
function refusedByTheReader(rows: readonly Row[]): Case[] {
  return rows.flatMap(([name, text, [seen = ""]]): Case[] => {
    const [, status] = /^(4\d\d) /.exec(seen) ?? [];
    const ofOrder = text.replace("Host: a\r\n", "").replace("POST /a HTTP/1.1\r\n", orderHead);
    return status === undefined ? [] : [[name, `${ofOrder}${hidden}`, [Number(status)]]];
  });
}

const orderHead = "POST /create_order HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";

/** The refused rows of the reader's own corpus, by class. */
export const readerCases: readonly (readonly [name: string, cases: readonly Case[]])[] = [
  ["request lines", refusedByTheReader(requestLines)],
  ["header lines", refusedByTheReader(headerLines)],
  ["framings", refusedByTheReader(framings)],
  ["chunks", refusedByTheReader(chunkTexts)],
];

/** The framing corpus, by class. */
export const framingCases: readonly (readonly [name: string, cases: readonly Case[]])[] = [
  ["Content-Length in disguise", lengths],
  ["Transfer-Encoding in disguise", transferCodings],
  ["chunks that are not what they say", chunkedBodies],
  ["odd request lines and header lines", lines],
  ["other versions and protocols", versions],
  ["ways out of HTTP/1.1", upgrades],
  ["expectations", expectations],
  ["requests within requests", pipelines],
];
