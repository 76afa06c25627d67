import type { Environment } from "../../model/environment.ts";
import type { Send, UpstreamResponse } from "../../proxy/messages.ts";
import { Attempt, type HttpRequest } from "./attempt.ts";
import type { ConnectionPool } from "./connection-pool.ts";

/** What is read by Countersign itself is a few hundred bytes: a token (RFC 6749 section 5.1), an application's status. */
export const longestAnswerBytes = 65_536;

/**
 * Sends a request once: nothing is repeated, and no redirect followed.
 * @param deadlineMs on the monotonic clock; it covers the connection, the head and the body of the response
 * @throws ProxyError upstream_unreachable, upstream_reset, upstream_bad_response, upstream_timeout, as the body does
 */
export function exchange(
  pool: ConnectionPool,
  request: HttpRequest,
  deadlineMs: number,
  onConnected = () => {},
): Promise<UpstreamResponse> {
  return new Promise((resolve, reject) => pool.send(new Attempt(request, deadlineMs, onConnected, resolve, reject)));
}

/** @param poolOf the connections to an environment's baseUrl */
export function createSend(poolOf: (environment: Environment) => ConnectionPool): Send {
  return (request, deadlineMs, onConnected) => exchange(poolOf(request.environment), request, deadlineMs, onConnected);
}

/**
 * The body of a response.
 * @returns undefined where it is longer than 64 KiB; the rest is not received
 * @throws what the body throws
 */
export async function readWhole(response: UpstreamResponse): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const body = response.body instanceof Uint8Array ? [response.body] : response.body;
  for await (const piece of body) {
    length += piece.length;
    if (length > longestAnswerBytes) {
      response.discard();
      return undefined;
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
