import { chunked, orderText, rawPost } from "../../../../testkit/raw-caller.ts";
import { type Case, chunks, framed, hidden, last } from "../case.ts";

const plain = rawPost({ connection: [] });
const chunkedFraming = ["Transfer-Encoding: chunked"];
const inChunks = framed(chunkedFraming, chunks);
const closing = rawPost();
const refused = (given: Parameters<typeof rawPost>[0]) => rawPost({ connection: [], ...given });
const inItsChunks = { framing: chunkedFraming, body: chunked(hidden) };
const foreign = refused({ host: ["Host: evil.example"], body: "{}" });
const foreignHidden = hidden.replace("Host: 127.0.0.1", "Host: evil.example");

/** Several requests on one connection (RFC 9112 9.3.2), and what looks like one within another. */
export const pipelines: readonly Case[] = [
  // Sound: answered one for one, in their order.
  ["two orders", `${plain}${last}`, [200, 200]],
  ["ten orders", `${plain.repeat(9)}${last}`, Array.from({ length: 10 }, () => 200)],
  ["chunks and lengths by turns", `${inChunks}${plain}${inChunks}${last}`, [200, 200, 200, 200]],
  ["an empty line between two", `${plain}\r\n${last}`, [200, 200]],
  ["the second cut within its request line", [`${inChunks}POS`, last.slice(3)], [200, 200]],
  ["the third cut within its line ends", [`${plain}${plain}${last.slice(0, 28)}`, last.slice(28)], [200, 200, 200]],
  ["a refused order between two", `${plain}${refused({ body: '{"order_amount":"1.005"}' })}${last}`, [200, 422, 200]],
  ["a hidden request behind an unread body", `${plain}${foreign}${hidden}`, [200, 403]],

  // A request within a body is a body.
  ["a hidden request in a string of the order", refused({ body: `{"note":"${hidden.replaceAll('"', "'")}"}` }), [400]],
  ["a hidden request, escaped, in a string", refused({ body: JSON.stringify({ note: orderText }) }), [200]],
  ["a hidden request behind the order, in its length", refused({ body: `${orderText}${hidden}` }), [400]],
  ["a hidden request behind the order, in its chunk", framed(chunkedFraming, chunked(`${orderText}${hidden}`)), [400]],
  ["a hidden request in its own chunk", framed(chunkedFraming, `${chunks.slice(0, -5)}${chunked(hidden)}`), [400]],
  ...["GET", "PATCH", "TRACE", "OPTIONS"].map((method): Case => {
    return [`a hidden request as the body of ${method}`, refused({ method, body: hidden }), [405]];
  }),
  ["a hidden request as the chunks of DELETE", refused({ method: "DELETE", ...inItsChunks }), [405]],

  // After an answer that closes the connection nothing more is served (RFC 9112 9.6).
  ["a hidden request behind a closing order", `${closing}${hidden}`, [200]],
  ["ten behind a closing order", `${closing}${hidden.repeat(10)}`, [200]],
  ["a hidden request behind Connection: Close", `${rawPost({ connection: ["Connection: Close"] })}${hidden}`, [200]],
  ["a hidden request behind close in a list", `${rawPost({ connection: ["Connection: x, close"] })}${hidden}`, [200]],
  ["a hidden request behind a malformed one", `${plain.replace("Host:", "Host :")}${hidden}`, [400]],
  ["a hidden request behind two lengths", framed(["Content-Length: 2", "Content-Length: 2"], `{}${hidden}`), [400]],
  ["a hidden request behind a broken chunk", `${framed(chunkedFraming, "g\r\n")}${hidden}`, [400]],
  ["a hidden request behind a body that is too large", `${framed(["Content-Length: 300000"], hidden)}`, [413]],

  // Bytes behind a sound request.
  ["a foreign request behind an order", `${plain}${foreignHidden}`, [200, 403]],
  ["more than the length says", `${framed(["Content-Length: 2"], `{}${foreignHidden}`)}`, [200, 403]],
  ["a chunk behind the last chunk", `${inChunks}${chunks}`, [200]],
  ["junk behind an order", `${plain}\x01\x02\x03`, [200]],
  ["an answer behind an order", `${plain}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`, [200]],
  ["a malformed request behind two orders", `${plain}${plain}${last.replace(" HTTP/1.1", " HTTP/7.1")}`, [200, 200]],
];
