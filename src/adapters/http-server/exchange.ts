import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../model/clock.ts";
import { ProxyError } from "../../model/errors.ts";
import type { ClientResponse } from "../../proxy/messages.ts";
import { canBeReset } from "./cut-off.ts";

/** One request and its answer on a connection. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly clock: Clock;
  /** `limits.bodyBytes`. */
  readonly bodyBytes: number;
  /** Whether the caller's connection is gone. */
  isGone(): boolean;
  /**
   * Asked once, when the head is written: whether the connection ends with this answer.
   * @param mustClose whether nothing but the close ends this answer
   */
  decideToClose(mustClose: boolean): boolean;
  /** Ends the connection in the middle of this answer. Resolves when it is gone. */
  cutOff(): Promise<void>;
}

/** @throws ProxyError upstream_bad_response when Node will not write such a head */
export function writeHead({ request, response, decideToClose }: Exchange, reply: ClientResponse): void {
  const { status, headers } = reply;
  const isFramed = !("isFramed" in reply) || reply.isFramed;
  const closes = decideToClose(!isFramed);
  const lines = closes ? [...headers, ["Connection", "close"] as const] : headers;
  // What only a close ended may be a part, so only a close ends it here. Where a cut would look the same, chunks must tell.
  if (closes && !isFramed && canBeReset(request.socket)) response.useChunkedEncodingByDefault = false;
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
