import type { Dispatcher } from "undici";
import type { Clock } from "../../model/clock.ts";
import { codeOf } from "./transport-error.ts";
import type { Pool } from "./undici-pool.ts";

/** What is read by a program is a few hundred bytes: a token (RFC 6749, 5.1), an ExportTraceServiceResponse. */
const longestBodyBytes = 65_536;

/** What came of a POST. */
export type PostResult =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly headers: Readonly<Record<string, string | string[] | undefined>>;
      readonly body: string;
      /** False where the body is longer than 64 KiB: the rest is not received. */
      readonly isWhole: boolean;
    }
  | { readonly kind: "timed_out" }
  /** @property cause is a code such as ECONNREFUSED */
  | { readonly kind: "failed"; readonly cause: string };

/** The request as it leaves, but for what belongs to the connection. */
export interface PostRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** Posts once. A redirect comes back as what it is; nothing is repeated. */
export function post(pool: Pool, request: PostRequest, timeoutMs: number, clock: Clock): Promise<PostResult> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let lengthBytes = 0;
    let controller: Dispatcher.DispatchController | undefined;
    let head: { readonly status: number; readonly headers: Readonly<Record<string, string | string[] | undefined>> };
    let hasEnded = false;
    const end = (result: PostResult) => {
      if (hasEnded) return;
      hasEnded = true;
      cancelDeadline();
      resolve(result);
    };
    const endWithBody = (isWhole: boolean) =>
      end({ kind: "answered", ...head, body: Buffer.concat(pieces).toString("utf8"), isWhole });
    const stop = () => controller?.abort(new Error("ended"));
    const cancelDeadline = clock.after(timeoutMs, () => {
      end({ kind: "timed_out" });
      stop();
    });
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        if (hasEnded) throw new Error("ended before it was written");
        controller = started;
      },
      onResponseStart(_, status, headers) {
        head = { status, headers };
      },
      onResponseData(_, piece) {
        lengthBytes += piece.length;
        if (lengthBytes <= longestBodyBytes) {
          pieces.push(piece);
          return;
        }
        endWithBody(false);
        stop();
      },
      onResponseEnd: () => endWithBody(true),
      onResponseError: (_, error) => end({ kind: "failed", cause: codeOf(error) }),
    };
    try {
      pool.dispatch({ method: "POST", ...request }, handler);
    } catch (error) {
      end({ kind: "failed", cause: codeOf(error) });
    }
  });
}

/** The first of a header's values. */
export function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
