import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";
import { ProxyError } from "../../errors.ts";
import type { Reply } from "../../journey/messages.ts";

/** How long, and how much of, an unread request body is still taken in so that its sender gets to read our answer. */
const lingerMs = 1_000;
const lingerBytes = 1_048_576;

/**
 * Writes an answer. Resolves when it was handed over or the caller has left.
 * @param decideToClose asked once, when the head is written: whether the connection ends with this answer
 * @throws what the body throws, after cutting the connection; ProxyError upstream_bad_response when the head cannot be
 * written
 */
export async function writeReply(
  request: IncomingMessage,
  response: ServerResponse,
  reply: Reply,
  decideToClose: () => boolean,
  clock: Clock,
): Promise<void> {
  const writeOwnHead = () => writeHead(response, reply, decideToClose());
  if (!(reply.body instanceof Uint8Array)) return stream(response, reply.body, writeOwnHead);
  if (response.destroyed) return;
  writeOwnHead();
  if (request.complete) {
    response.end(reply.body);
    return;
  }
  response.write(reply.body);
  await linger(request, clock);
  response.end();
}

function writeHead(response: ServerResponse, reply: Reply, isLast: boolean): void {
  const lines = isLast ? [...reply.headers, ["Connection", "close"] as const] : reply.headers;
  // The service's answer keeps its own Date or none; ours gets one.
  response.sendDate = reply.body instanceof Uint8Array;
  try {
    response.writeHead(reply.status, lines.flat());
  } catch {
    throw new ProxyError("upstream_bad_response", "The head of the service's answer cannot be passed on.");
  }
}

/**
 * The head goes out with the first piece of the body. Node would keep a lone head back, so an answer that breaks right
 * after its head would become a bare close, and libraries repeat a POST after that (row 12a); so it is still told as a
 * failure.
 */
async function stream(response: ServerResponse, body: AsyncIterable<Uint8Array>, writeOwnHead: () => void) {
  const pieces = body[Symbol.asyncIterator]();
  try {
    let step = await pieces.next();
    writeOwnHead();
    for (; step.done !== true; step = await pieces.next()) {
      if (response.destroyed) return;
      if (!response.write(step.value)) await writable(response);
    }
    response.end();
  } catch (error) {
    if (response.headersSent) response.destroy();
    throw error;
  } finally {
    await pieces.return?.();
  }
}

/** Until there is room again, or nobody to write for. */
async function writable(response: ServerResponse): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  await Promise.race([once(response, "drain", { signal }), once(response, "close", { signal })]).finally(() =>
    settled.abort(),
  );
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
