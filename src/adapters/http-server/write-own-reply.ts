import { sleep } from "../../model/clock.ts";
import type { LocalReply } from "../../proxy/messages.ts";
import { wholeTurn } from "./drain.ts";
import { type Exchange, writeHead } from "./exchange.ts";

/**
 * How long, and how much of, an unread request body is still taken in so that its sender gets to read our answer. Bodies
 * within `limits.bodyBytes` are taken in whole. Such a connection counts towards `limits.connections`.
 */
const lingerMs = 5_000;
const lingerBytes = 1_048_576;
/** After the first such time our direction is closed; after another one in which nothing came, the connection. */
const quietMs = 1_000;

/** Writes an answer of our own. Resolves when it was handed over or the caller has left. */
export async function writeOwnReply(exchange: Exchange, reply: LocalReply): Promise<void> {
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
async function linger({ request, clock, bodyBytes }: Exchange): Promise<void> {
  if (request.destroyed) return;
  const untilMs = clock.nowMs() + lingerMs;
  const mostBytes = Math.max(lingerBytes, bodyBytes);
  const over = new AbortController();
  const stop = () => over.abort();
  let length = 0;
  const take = (chunk: Buffer) => {
    length += chunk.length;
    if (length <= mostBytes) return;
    request.pause();
    stop();
  };
  request.on("data", take).on("end", stop).on("close", stop).resume();
  for (let before = -1; length > before && !over.signal.aborted && clock.nowMs() < untilMs; ) {
    if (request.socket.writableEnded) before = length;
    await sleep(clock, quietMs, over.signal);
    if (over.signal.aborted) break;
    // A busy loop comes to its timers before it has read what has long been there.
    await wholeTurn();
    if (!over.signal.aborted) request.socket.end();
  }
  request.off("data", take).off("end", stop).off("close", stop);
}
