import type { OwnReply } from "../../journey/messages.ts";
import { type Exchange, writeHead } from "./exchange.ts";

/**
 * How long, and how much of, an unread request body is still taken in so that its sender gets to read our answer. Bodies
 * within `limits.bodyBytes` are taken in whole. Such a connection counts towards `limits.connections`.
 */
export const lingerMs = 5_000;
const lingerBytes = 1_048_576;
/** The sender is told by then that no more comes from us; a slow one may still send. */
const halfCloseMs = 1_000;

/** Writes an answer of our own. Resolves when it was handed over or the caller has left. */
export async function writeOwnReply(exchange: Exchange, reply: OwnReply): Promise<void> {
  const { request, response } = exchange;
  if (exchange.isGone()) return;
  writeHead(exchange, reply);
  if (request.complete) {
    response.end(reply.body);
    return;
  }
  response.write(reply.body);
  await linger(exchange);
  if (request.socket.writableEnded) request.socket.destroy();
  else response.end();
}

/**
 * Takes in what the caller is still sending, within bounds. Closing a socket with unread data resets it, and the reset
 * can overtake the answer. So our direction is closed first (RFC 9112 section 9.6).
 */
function linger({ request, clock, bodyBytes }: Exchange): Promise<void> {
  if (request.destroyed) return Promise.resolve();
  const mostBytes = Math.max(lingerBytes, bodyBytes);
  return new Promise((resolve) => {
    let length = 0;
    const stop = () => {
      for (const cancel of timers) cancel();
      request.off("data", take).off("end", stop).off("close", stop);
      resolve();
    };
    const take = (chunk: Buffer) => {
      length += chunk.length;
      if (length > mostBytes) stop();
    };
    const timers = [clock.after(halfCloseMs, () => request.socket.end()), clock.after(lingerMs, stop)];
    request.on("data", take).on("end", stop).on("close", stop);
    request.resume();
  });
}
