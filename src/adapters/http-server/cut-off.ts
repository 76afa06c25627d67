import type { Socket } from "node:net";
import { type Clock, sleep } from "../../model/clock.ts";
import { transportOf } from "./handshakes.ts";

/**
 * What was written before the cut gets this long to arrive and be read. A reset discards what is still under way, the
 * status line too; and a Node program takes a reset that comes together with bytes for an orderly end (libuv).
 */
const settleMs = 50;

const cutByUs = new WeakSet<Socket>();

/**
 * Ends a connection in the middle of an answer by a reset, so that its caller cannot take the part for the whole. A plain
 * close would be the proper end of a body without a length. Resolves when the connection is gone.
 */
export async function cutOff(socket: Socket, clock: Clock): Promise<void> {
  if (socket.destroyed) return;
  cutByUs.add(socket);
  await sleep(clock, settleMs);
  if (socket.destroyed) return;
  const transport = transportOf(socket);
  if (transport !== undefined && canBeReset(socket)) transport.resetAndDestroy();
  socket.destroy();
}

/** Whether it was us who ended it, and not the caller. */
export function wasCutOff(socket: Socket): boolean {
  return cutByUs.has(socket);
}

/** Unix sockets know no reset. */
export function canBeReset(socket: Socket): boolean {
  return socket.remoteAddress !== undefined;
}
