import { firstOf, type HeaderLines } from "../../http/headers.ts";
import type { Clock } from "../../model/clock.ts";
import { ProxyError } from "../../model/errors.ts";
import type { TokenEndpoint } from "../../oauth/token-endpoint.ts";
import type { PostSpans } from "../../tracing/span-exporter.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import { exchange, readWhole } from "./exchange.ts";
import { codeOf } from "./transport-error.ts";

/** `cause` is a code, such as ECONNREFUSED. */
type PostResult =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly headers: HeaderLines;
      /** Undefined where it is longer than 64 KiB. */
      readonly body: string | undefined;
    }
  | { readonly kind: "timed_out" | "failed"; readonly cause: string };

interface PostRequest {
  readonly path: string;
  readonly headers: HeaderLines;
  readonly body: string;
}

/** Posts to the token endpoint at a path. */
export function createPostTokenRequest(pool: ConnectionPool, path: string, clock: Clock): TokenEndpoint["post"] {
  return async ({ contentType, body, authorization }, timeoutMs, onConnected) => {
    const headers = ["accept", "application/json", "content-type", contentType];
    if (authorization !== undefined) headers.push("authorization", authorization);
    const result = await post(pool, { path, headers, body }, timeoutMs, clock, onConnected);
    if (result.kind !== "answered") return result;
    if (result.body === undefined) return { kind: "malformed", status: result.status, cause: "answer too long" };
    return {
      kind: "answered",
      status: result.status,
      retryAfter: firstOf(result.headers, "retry-after"),
      date: firstOf(result.headers, "date"),
      body: result.body,
    };
  };
}

/**
 * Posts OTLP in JSON to a collector.
 * @param headers of each request
 */
export function createPostSpans(pool: ConnectionPool, path: string, headers: HeaderLines, clock: Clock): PostSpans {
  const all = [...headers, "content-type", "application/json"];
  return async (body, timeoutMs) => {
    const result = await post(pool, { path, headers: all, body }, timeoutMs, clock);
    if (result.kind !== "answered") return { kind: "failed", cause: result.cause };
    const { status, headers: own, body: text = "" } = result;
    const [retryAfter, date] = [firstOf(own, "retry-after"), firstOf(own, "date")];
    return { kind: "answered", status, retryAfter, date, body: text };
  };
}

/** Posts once, and never rejects. A redirect comes back as what it is. */
async function post(
  pool: ConnectionPool,
  { body, ...request }: PostRequest,
  timeoutMs: number,
  clock: Clock,
  onConnected?: () => void,
): Promise<PostResult> {
  try {
    const response = await exchange(pool, { ...request, render: () => body }, clock.nowMs() + timeoutMs, onConnected);
    const bytes = await readWhole(response);
    return { kind: "answered", status: response.status, headers: response.headers, body: bytes?.toString("utf8") };
  } catch (error) {
    if (!(error instanceof ProxyError)) return { kind: "failed", cause: codeOf(error) };
    if (error.code === "upstream_timeout") return { kind: "timed_out", cause: "no answer" };
    return { kind: "failed", cause: error.causedBy ?? "UNKNOWN" };
  }
}
