import { rawPost } from "../../../../testkit/raw-caller.ts";
import { type Case, chunks, framed, hidden, last, readsAnswer } from "../case.ts";

const upgrading = (...lines: string[]) => rawPost({ connection: [], more: lines });

/** Ways out of HTTP/1.1 that nobody here takes (RFC 9110 7.8 and 9.3.6). */
export const upgrades: readonly Case[] = [
  // Upgrade: ignored, stripped, and the order served. Where Connection names it, the answer ends the connection.
  [
    "Upgrade: h2c",
    [
      upgrading("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA"),
      readsAnswer,
      last,
    ],
    [200],
  ],
  ["Upgrade: h2c and no Connection", `${upgrading("Upgrade: h2c")}${last}`, [200, 200]],
  [
    "Upgrade: websocket",
    [
      upgrading(
        "Connection: upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version: 13",
      ),
      readsAnswer,
      last,
    ],
    [200],
  ],
  [
    "Upgrade to what is spoken already",
    [upgrading("Connection: Upgrade", "Upgrade: HTTP/1.1"), readsAnswer, last],
    [200],
  ],
  [
    "Upgrade with chunks",
    [
      rawPost({
        connection: ["Connection: Upgrade"],
        more: ["Upgrade: h2c"],
        framing: ["Transfer-Encoding: chunked"],
        body: chunks,
      }),
      readsAnswer,
      last,
    ],
    [200],
  ],
  ["Upgrade and hidden frames", `${upgrading("Connection: Upgrade", "Upgrade: h2c")}\0\0\x04\x08\0\0\0\0\0`, [200]],
  [
    "Upgrade on a GET",
    "GET /create_order HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    [405],
  ],

  // Tunnels.
  ["CONNECT", `CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n${hidden}`, [405]],
  ["CONNECT to this very listener", `CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n${hidden}`, [405]],
  [
    "CONNECT with a length",
    `CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    [405],
  ],
];

const toH2c = rawPost({ connection: ["Connection: Upgrade"], more: ["Upgrade: h2c"] });
/** A sound order whose body happens to be the bytes of another request: its head here, its body in the next write. */
const carrier = framed([`Content-Length: ${hidden.length}`], "");
const broken = rawPost({ connection: [], body: '{"order_amount":"1.005"}' });

/**
 * What follows a request that asks for an upgrade, in the same write: it could be another protocol. So the connection ends with that
 * request's answer, and nothing behind it is served: neither an order nor what a body looks like.
 */
export const upgradedLines: readonly Case[] = [
  ["a body behind Upgrade that looks like a request", [`${toH2c}${carrier}`, readsAnswer, hidden], [200]],
  ["an order behind Upgrade", `${toH2c}${last}`, [200]],
  ["two orders behind Upgrade, one of them later", [`${toH2c}${broken}`, readsAnswer, last], [200]],
  [
    "an order behind a refused Upgrade",
    `${rawPost({ connection: ["Connection: Upgrade"], more: ["Upgrade: websocket"], body: "{" })}${last}`,
    [400],
  ],
];
