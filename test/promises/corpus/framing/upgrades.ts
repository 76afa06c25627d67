import { rawPost } from "../../../../testkit/raw-caller.ts";
import { type Case, chunks, framed, hidden, last, readsAnswer, type Step } from "../case.ts";

const upgrading = (...more: string[]) => rawPost({ connection: [], more });
/** The last order comes only when this one has its answer. */
const thenLast = (order: string): Step[] => [order, readsAnswer, last];
const http2Settings = "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA";
const toWebsocket = ["Upgrade: websocket", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: 13"];
const chunkedFraming = { framing: ["Transfer-Encoding: chunked"], body: chunks };
const toH2c = rawPost({ connection: ["Connection: Upgrade"], more: ["Upgrade: h2c"] });
const chunkedToH2c = rawPost({ connection: ["Connection: Upgrade"], more: ["Upgrade: h2c"], ...chunkedFraming });
const ofGet = "Host: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const toEvil = "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n";

/** Ways out of HTTP/1.1 that nobody here takes (RFC 9110 7.8 and 9.3.6). */
export const upgrades: readonly Case[] = [
  // Upgrade: ignored, stripped, and the order served. Where Connection names it, the answer ends the connection.
  ["to h2c", thenLast(upgrading("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", http2Settings)), [200]],
  ["to h2c, and no Connection", `${upgrading("Upgrade: h2c")}${last}`, [200, 200]],
  ["to websocket", thenLast(upgrading("Connection: upgrade", ...toWebsocket)), [200]],
  ["to what is spoken already", thenLast(upgrading("Connection: Upgrade", "Upgrade: HTTP/1.1")), [200]],
  ["with chunks", thenLast(chunkedToH2c), [200]],
  ["with hidden frames", `${upgrading("Connection: Upgrade", "Upgrade: h2c")}\0\0\x04\x08\0\0\0\0\0`, [200]],
  ["on a GET", `GET /create_order HTTP/1.1\r\n${ofGet}`, [405]],

  // Tunnels.
  ["CONNECT", `${toEvil}\r\n${hidden}`, [405]],
  ["CONNECT to this very listener", `CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n${hidden}`, [405]],
  ["CONNECT with a length", `${toEvil}Content-Length: ${hidden.length}\r\n\r\n${hidden}`, [405]],
];

/** A sound order whose body happens to be the bytes of another request: its head here, its body in the next write. */
const carrier = framed([`Content-Length: ${hidden.length}`], "");
const broken = rawPost({ connection: [], body: '{"order_amount":"1.005"}' });
const refused = rawPost({ connection: ["Connection: Upgrade"], more: ["Upgrade: websocket"], body: "{" });

/**
 * What follows a request that asks for an upgrade, in the same write: it could be another protocol. So the connection ends with that
 * request's answer, and nothing behind it is served: neither an order nor what a body looks like.
 */
export const upgradedLines: readonly Case[] = [
  ["a body behind Upgrade that looks like a request", [`${toH2c}${carrier}`, readsAnswer, hidden], [200]],
  ["an order behind Upgrade", `${toH2c}${last}`, [200]],
  ["two orders behind Upgrade, one of them later", thenLast(`${toH2c}${broken}`), [200]],
  ["an order behind a refused Upgrade", `${refused}${last}`, [400]],
];
