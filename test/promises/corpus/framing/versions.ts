import { type RawPost, rawPost } from "../../../../testkit/raw-caller.ts";
import { type Case, chunks, hidden, last } from "../case.ts";

const ofVersion = (version: string, given: RawPost = {}) => rawPost({ version, connection: [], ...given });
const inChunks = { framing: ["Transfer-Encoding: chunked"], body: chunks };
const settings = `${"\0".repeat(4)}\x04${"\0".repeat(4)}`;

/** Other versions and other protocols (RFC 9112 2.3; RFC 9110 2.5). */
export const versions: readonly Case[] = [
  // Versions that are not HTTP/1.x.
  ["HTTP/0.9: a request line without a version", "POST /create_order\r\n\r\n", [400]],
  ["HTTP/0.9 with header lines", rawPost({ connection: [] }).replace(" HTTP/1.1", ""), [400]],
  ["HTTP/0.9 in so many words", ofVersion("HTTP/0.9"), [400]],
  ["HTTP/2.0", ofVersion("HTTP/2.0"), [400]],
  ["HTTP/ 1.1", ofVersion("HTTP/ 1.1"), [400]],

  // HTTP/1.0.
  // A coding is faulty framing there: the connection must close (RFC 9112 6.1), so nothing behind it is served.
  ["HTTP/1.0 and a Transfer-Encoding", `${ofVersion("HTTP/1.0", inChunks)}${hidden}`, [200]],
  ["HTTP/1.0 keeps no connection", `${ofVersion("HTTP/1.0")}${hidden}`, [200]],
  ["HTTP/1.0 and keep-alive", `${ofVersion("HTTP/1.0", { more: ["Connection: keep-alive"] })}${last}`, [200, 200]],
  ["HTTP/1.0 cannot be told to continue", ofVersion("HTTP/1.0", { more: ["Expect: 100-continue"] }), [200]],

  // HTTP/2 without a word.
  ["the preface of HTTP/2 with settings", `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${settings}`, [400]],
  ["the preface as HTTP/1.1", "PRI * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nSM\r\n\r\n", [400]],
  ["the preface behind an order", `${rawPost({ connection: [] })}PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`, [200]],
];
