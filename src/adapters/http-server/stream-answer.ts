import { ProxyError } from "../../model/errors.ts";
import type { StreamedResponse } from "../../proxy/messages.ts";
import { type Exchange, writeHead } from "./exchange.ts";

/**
 * Streams the service's answer to the caller, at the caller's pace but not beyond the deadline. Where the caller has
 * left, the answer is still read to its end: how the request ended is worth knowing.
 *
 * The head goes out with the first piece of the body. Node would keep a lone head back, so an answer that breaks right
 * after its head would become a bare close, and libraries repeat a POST after that (row 12a); so it is still told as a
 * failure.
 * @param deadlineMs on the monotonic clock
 * @throws what the body throws, and ProxyError upstream_timeout when the caller does not take it, after cutting the
 * connection
 */
export async function streamAnswer(exchange: Exchange, reply: StreamedResponse, deadlineMs: number): Promise<void> {
  const { response, isGone } = exchange;
  const pieces = reply.body[Symbol.asyncIterator]();
  try {
    let step = await pieces.next();
    if (!isGone()) writeHead(exchange, reply);
    for (; step.done !== true; step = await pieces.next()) {
      if (isGone() || response.write(step.value)) continue;
      reply.onSlowReader?.();
      await taken(exchange, "drain", deadlineMs);
    }
    if (isGone()) return;
    response.end();
    if (!response.writableFinished) await taken(exchange, "finish", deadlineMs);
  } catch (error) {
    if (response.headersSent) await exchange.cutOff();
    throw error;
  } finally {
    await pieces.return?.();
  }
}

/** Until the caller has taken what was written, or has left. */
function taken(
  { request, response, clock, isGone }: Exchange,
  event: "drain" | "finish",
  deadlineMs: number,
): Promise<void> {
  if (isGone()) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const settle = (how: () => void) => () => {
      cancel();
      response.off(event, done);
      request.socket.off("close", done);
      how();
    };
    const done = settle(resolve);
    const late = new ProxyError("upstream_timeout", "The caller did not take the whole answer in time.", {
      causedBy: "slow caller",
    });
    const cancel = clock.after(
      deadlineMs - clock.nowMs(),
      settle(() => reject(late)),
    );
    response.once(event, done);
    request.socket.once("close", done);
  });
}
