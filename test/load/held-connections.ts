import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { rawPost } from "../../testkit/raw-caller.ts";

/** What a connection leaves the proxy with, and what it costs on the wire. */
export interface Held {
  /** What each connection writes. */
  readonly bytes: string;
  /** Where it is written in pieces of so many bytes, each read by itself. */
  readonly pieceBytes?: number;
  /** On the listener for callbacks. */
  readonly isCallback?: boolean;
  /** It has a connection to the service. */
  readonly isSent?: boolean;
  /** What the service writes for it. */
  readonly answerBytes?: number;
  /** How many connections the measurement opens. */
  readonly connections: number;
}

const kept = { connection: [] };
const pending = (more: Parameters<typeof rawPost>[0] = {}) => rawPost({ ...kept, target: "/hold_order", ...more });
const post = "POST /create_order HTTP/1.1\r\nHost: 127.0.0.1\r\n";
const json = "Content-Type: application/json\r\n";
const chunked = `${post}${json}Transfer-Encoding: chunked\r\n\r\n`;
const longLines = `X: ${"x".repeat(150)}\r\n`.repeat(96);
/** As large as a head may be. */
const largestHead = `${post}${longLines}`;
const smallest = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

export const largeAnswerBytes = 1_000_000;

/**
 * Every state in which a connection may stay. Those that send come last: what they sent stays in flight, though its callers
 * have gone, until `timeouts.request`.
 */
export const heldStates: Readonly<Record<string, Held>> = {
  "the shortest header lines": { bytes: `${post}${"ab:cd\r\n".repeat(2_320)}`, connections: 1_024 },
  "a head of as many lines as are taken": { bytes: largestHead, connections: 1_024 },
  "a head that comes byte by byte": { bytes: `${post}X: ${"x".repeat(300)}`, pieceBytes: 1, connections: 256 },
  "a part of a body": {
    bytes: rawPost({ framing: ["Content-Length: 100000"], body: "x".repeat(60_000) }),
    connections: 256,
  },
  "a head and a part of a body": { bytes: `${largestHead}${json}Content-Length: 9\r\n\r\n{`, connections: 1_024 },
  "a body that comes byte by byte": {
    bytes: rawPost({ framing: ["Content-Length: 10000"], body: "x".repeat(300) }),
    pieceBytes: 1,
    connections: 256,
  },
  "a body in chunks of one byte": { bytes: `${chunked}${"1\r\nx\r\n".repeat(1_000)}`, connections: 1_024 },
  "trailers that come byte by byte": { bytes: `${chunked}0\r\nX: ${"x".repeat(300)}`, pieceBytes: 1, connections: 256 },
  "a part of a callback": {
    bytes: rawPost({ target: "/", framing: ["Content-Length: 100000"], body: "x".repeat(60_000) }),
    isCallback: true,
    connections: 256,
  },
  "a head behind an order that is not answered": {
    bytes: `${pending()}${largestHead}\r\n`,
    isSent: true,
    connections: 512,
  },
  "requests behind an order that is not answered": {
    bytes: `${pending()}${smallest.repeat(2_000)}`,
    isSent: true,
    connections: 256,
  },
  "an order with a large head that is not answered": {
    bytes: `${largestHead}${json}Content-Length: 2\r\n\r\n{}`.replace("/create_order", "/hold_order"),
    isSent: true,
    connections: 512,
  },
  "an order with a key that is not answered": {
    bytes: pending({ more: ["Countersign-Once: key-NUMBER-of-this-order"] }),
    isSent: true,
    connections: 512,
  },
  "a large answer that is not read": {
    bytes: rawPost({ ...kept, target: "/list_orders" }),
    answerBytes: largeAnswerBytes,
    isSent: true,
    connections: 64,
  },
  "a part of an upload": {
    bytes: rawPost({
      method: "PUT",
      target: "/files/a",
      framing: ["Content-Length: 9000000"],
      body: "x".repeat(60_000),
    }),
    isSent: true,
    connections: 256,
  },
};

/** Opens a connection that writes what it holds. It ends with the test, and reads nothing of a large answer. */
export async function hold(port: number, { bytes, pieceBytes, answerBytes }: Held, number: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.on("error", () => {});
  if (answerBytes === undefined) socket.resume();
  onTestFinished(() => void socket.destroy());
  await Promise.race([once(socket, "connect"), once(socket, "close")]);
  const text = bytes.replace("NUMBER", String(number));
  if (pieceBytes === undefined) socket.write(text, "latin1");
  else await writeInPieces(socket, text, pieceBytes);
  return socket;
}

/** Two turns for each, so that the other side reads them one by one. */
async function writeInPieces(socket: Socket, text: string, pieceBytes: number): Promise<void> {
  const head = text.lastIndexOf("X: ") === -1 ? text.indexOf("\r\n\r\n") + 4 : text.lastIndexOf("X: ");
  socket.write(text.slice(0, head), "latin1");
  for (let at = head; at < text.length && !socket.destroyed; at += pieceBytes) {
    await nextTurn();
    await nextTurn();
    socket.write(text.slice(at, at + pieceBytes), "latin1");
  }
}
