import type { IncomingMessage } from "node:http";
import type { Clock } from "../../model/clock.ts";
import { ProxyError } from "../../model/errors.ts";
import type { BodyMemory } from "../../proxy/messages.ts";

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
  if (declaredLength(request) > bodyBytes) throw tooLarge(bodyBytes);
}

/** 0 where the body comes in chunks. */
export function declaredLength(request: IncomingMessage): number {
  return Number(request.headers["content-length"] ?? 0);
}

/**
 * Reads a request's whole body into memory, which `limits.bodyBytes` bounds: reading stops there whatever was declared.
 * @param broken rejects when the connection's parser gives up on the body
 * @param memory asked for room as the bytes come
 * @throws ProxyError body_too_large, request_timeout, malformed_request, and what the memory throws
 */
export function readBody(
  request: IncomingMessage,
  broken: Promise<never>,
  limits: BodyLimits,
  memory: BodyMemory,
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
      // The promises below outlive the body, and hold on to what their callbacks know.
      chunks.length = 0;
    };
    const take = (chunk: Buffer) => {
      length += chunk.length;
      try {
        if (length > limits.bodyBytes) throw tooLarge(limits.bodyBytes);
        memory.reserve(length);
        chunks.push(chunk);
      } catch (error) {
        finish(() => reject(error));
      }
    };
    const complete = () => finish(() => resolve(Buffer.concat(chunks, length)));
    const cutShort = () => finish(() => reject(closedEarly()));
    const cancelTimeout = clock.after(limits.timeoutMs, () => finish(() => reject(tooSlow(limits))));
    request.on("data", take).on("end", complete).on("close", cutShort);
    for (const end of [broken, memory.gaveWay]) end.catch((error) => finish(() => reject(error)));
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
