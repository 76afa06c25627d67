import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Clock, sleep } from "../../model/clock.ts";
import type { RequestBody } from "./read-body.ts";
import { transportOf } from "./tls.ts";

/**
 * The time for bytes that were written before a reset to arrive and be read. A reset discards bytes that are still on their
 * way, even the status line; and a Node program reads a reset that comes together with bytes as an orderly end (libuv).
 */
const flushMs = 50;
/** How long the other side may take to read our response and close, before we do. */
const closingMs = 1_000;
/**
 * How long, and how many bytes of, an unread request body are still read, so that its sender can read our response. Bodies
 * within `limits.bodyBytes` are read whole. Such a connection counts towards `limits.connections`.
 */
const lingerMs = 5_000;
const lingerBytes = 1_048_576;
/** After this time our direction is closed; after the same time again without a byte, the connection. */
const quietMs = 1_000;

/**
 * Ends our direction; the connection closes when the other side ends its own, or after a second. Until then, bytes that
 * come are read and dropped: closing a socket with unread data resets it, and the reset can overtake the response.
 */
export function endConnection(socket: Duplex, clock: Clock): void {
  socket.end();
  socket.resume();
  socket.once(
    "close",
    clock.after(closingMs, () => socket.destroy()),
  );
}

/**
 * Reads the rest of an unwanted body, within bounds, and ends the connection. The caller may write the whole body before it
 * reads the response (RFC 9112 section 9.6).
 */
export async function linger(socket: Socket, body: RequestBody, clock: Clock): Promise<void> {
  const untilMs = clock.nowMs() + lingerMs;
  const mostBytes = Math.max(lingerBytes, body.limitBytes);
  const over = new AbortController();
  const stop = () => over.abort();
  let length = 0;
  const take = (bytes: Buffer) => {
    length += bytes.length;
    if (length > mostBytes && !over.signal.aborted) socket.destroySoon();
    if (length > mostBytes || body.skip(bytes)) stop();
  };
  socket.on("data", take).on("end", stop).on("close", stop).resume();
  for (let before = -1; length > before && !over.signal.aborted && clock.nowMs() < untilMs; ) {
    if (socket.writableEnded) before = length;
    await sleep(clock, quietMs, over.signal);
    if (!over.signal.aborted) socket.end();
  }
  socket.off("data", take).off("end", stop).off("close", stop);
  if (!socket.writableEnded) endConnection(socket, clock);
  else socket.destroy();
}

/**
 * Ends a connection in the middle of a response by a reset, so that its caller cannot accept the part as the whole. A plain
 * close would be the proper end of a body without a length. Resolves when the connection is gone.
 */
export async function resetConnection(socket: Socket, clock: Clock): Promise<void> {
  if (socket.destroyed) return;
  await sleep(clock, flushMs);
  if (socket.destroyed) return;
  const transport = transportOf(socket);
  if (transport?.remoteAddress !== undefined) transport.resetAndDestroy();
  socket.destroy();
}
