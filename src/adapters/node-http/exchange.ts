import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../clock.ts";
import { ProxyError } from "../../errors.ts";
import type { Reply } from "../../journey/messages.ts";

/** One request and its answer on a connection. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly clock: Clock;
  /**
   * Whether the caller's connection is gone. Node tells only the response that has its turn of it, so one that is queued
   * behind another asks the socket.
   */
  isGone(): boolean;
  /**
   * Asked once, when the head is written: whether the connection ends with this answer.
   * @param wantsToClose whether it should, if no other request waits behind it
   */
  decideToClose(wantsToClose: boolean): boolean;
}

/** @throws ProxyError upstream_bad_response when Node will not write such a head */
export function writeHead({ response, decideToClose }: Exchange, reply: Reply): void {
  const { status, headers } = reply;
  const isFramed = !("isFramed" in reply) || reply.isFramed;
  const closes = decideToClose(!isFramed);
  const lines = closes ? [...headers, ["Connection", "close"] as const] : headers;
  // What only a close ended may be a part. Chunks of our own would make it look whole.
  if (closes && !isFramed) response.useChunkedEncodingByDefault = false;
  // The service's answer keeps its own Date or none; ours gets one.
  response.sendDate = reply.body instanceof Uint8Array;
  try {
    response.writeHead(status, lines.flat());
  } catch {
    throw new ProxyError("upstream_bad_response", "The head of the service's answer cannot be passed on.", {
      causedBy: "head",
    });
  }
}
