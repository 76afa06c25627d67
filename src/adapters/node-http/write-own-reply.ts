import type { IncomingMessage } from "node:http";
import type { Clock } from "../../clock.ts";
import type { OwnReply } from "../../journey/messages.ts";
import { type Exchange, writeHead } from "./exchange.ts";

/** How long, and how much of, an unread request body is still taken in so that its sender gets to read our answer. */
const lingerMs = 1_000;
const lingerBytes = 1_048_576;

/** Writes an answer of our own. Resolves when it was handed over or the caller has left. */
export async function writeOwnReply(exchange: Exchange, reply: OwnReply): Promise<void> {
  const { request, response, clock } = exchange;
  if (exchange.isGone()) return;
  writeHead(exchange, reply);
  if (request.complete) {
    response.end(reply.body);
    return;
  }
  response.write(reply.body);
  await linger(request, clock);
  response.end();
}

/**
 * Takes in what the caller is still sending, within bounds. Closing a socket with unread data resets it, and the reset
 * can overtake the answer.
 */
function linger(request: IncomingMessage, clock: Clock): Promise<void> {
  if (request.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let length = 0;
    const stop = () => {
      cancel();
      request.off("data", take).off("end", stop).off("close", stop);
      resolve();
    };
    const take = (chunk: Buffer) => {
      length += chunk.length;
      if (length > lingerBytes) stop();
    };
    const cancel = clock.after(lingerMs, stop);
    request.on("data", take).on("end", stop).on("close", stop);
    request.resume();
  });
}
