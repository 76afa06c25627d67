import type { IncomingMessage } from "node:http";
import type { Clock } from "../../clock.ts";
import { ProxyError } from "../../errors.ts";

export interface BodyLimits {
  readonly bodyBytes: number;
  /** The longest a body may take to arrive. */
  readonly timeoutMs: number;
}

/**
 * Refuses a declared length over the limit, before a byte is read or asked for with 100 Continue.
 * @throws ProxyError body_too_large
 */
export function checkDeclaredLength(request: IncomingMessage, bodyBytes: number): void {
  if (Number(request.headers["content-length"] ?? 0) > bodyBytes) throw tooLarge(bodyBytes);
}

/**
 * Reads a request's whole body into memory, which `limits.bodyBytes` bounds: reading stops there whatever was declared.
 * @param broken rejects when the connection's parser gives up on the body
 * @throws ProxyError body_too_large, request_timeout, malformed_request
 */
export function readBody(
  request: IncomingMessage,
  broken: Promise<never>,
  limits: BodyLimits,
  clock: Clock,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const finish = (settle: () => void) => {
      cancelTimeout();
      request.off("data", take).off("end", complete).off("close", cutShort);
      request.pause();
      settle();
    };
    const take = (chunk: Buffer) => {
      length += chunk.length;
      if (length > limits.bodyBytes) finish(() => reject(tooLarge(limits.bodyBytes)));
      else chunks.push(chunk);
    };
    const complete = () => finish(() => resolve(Buffer.concat(chunks, length)));
    const cutShort = () => finish(() => reject(closedEarly()));
    const cancelTimeout = clock.after(limits.timeoutMs, () => finish(() => reject(tooSlow(limits))));
    request.on("data", take).on("end", complete).on("close", cutShort);
    broken.catch((error) => finish(() => reject(error)));
  });
}

export function closedEarly(): ProxyError {
  return new ProxyError("malformed_request", "The connection closed before the body was complete.", {
    causedBy: "incomplete body",
  });
}

export function tooLarge(bodyBytes: number): ProxyError {
  return new ProxyError("body_too_large", `The body is longer than ${bodyBytes} bytes (limits.bodyBytes).`, {
    causedBy: "limits.bodyBytes",
  });
}

function tooSlow({ timeoutMs }: BodyLimits): ProxyError {
  return new ProxyError("request_timeout", `The body was not complete after ${Math.round(timeoutMs / 100) / 10} s.`, {
    causedBy: "body",
  });
}
