import type { IncomingMessage } from "node:http";
import type { Clock } from "../../model/clock.ts";
import { ProxyError } from "../../model/errors.ts";
import type { BodyBuffer } from "../../proxy/messages.ts";

export interface BodyLimits {
  /** `limits.bodyBytes`. */
  readonly bodyBytes: number;
  /** The longest a body may take to arrive. */
  readonly timeoutMs: number;
}

/**
 * Reads a request's whole body into memory, which `limits.bodyBytes` bounds: reading stops there whatever was declared.
 * @param buffer asked for room as the bytes come
 * @param onReading gets what ends the reading with a failure, for as long as it lasts
 * @throws ProxyError body_too_large, request_timeout, malformed_request, and what the buffer throws
 */
export function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  buffer: BodyBuffer,
  onReading: (fail: (error: unknown) => void) => void,
  clock: Clock,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const stop = () => {
      cancelTimeout();
      request.off("data", take).off("end", complete).off("close", cutShort);
      request.pause();
      buffer.onEvicted = () => {};
      onReading(() => {});
    };
    const fail = (error: unknown) => {
      stop();
      reject(error);
    };
    const take = (chunk: Buffer) => {
      length += chunk.length;
      try {
        if (length > limits.bodyBytes) throw tooLarge(limits.bodyBytes);
        buffer.reserve(length);
        chunks.push(chunk);
      } catch (error) {
        fail(error);
      }
    };
    const complete = () => {
      stop();
      resolve(Buffer.concat(chunks, length));
    };
    const cutShort = () => fail(closedEarly());
    const cancelTimeout = clock.after(limits.timeoutMs, () => fail(tooSlow(limits)));
    request.on("data", take).on("end", complete).on("close", cutShort);
    buffer.onEvicted = fail;
    onReading(fail);
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
