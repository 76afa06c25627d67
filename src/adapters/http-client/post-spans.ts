import type { Clock } from "../../model/clock.ts";
import type { PostSpans } from "../../tracing/span-exporter.ts";
import { firstOf, post } from "./post.ts";
import type { Pool } from "./undici-pool.ts";

/**
 * Posts OTLP in JSON to a collector.
 * @param headers of each request
 */
export function createPostSpans(
  pool: Pool,
  path: string,
  headers: Readonly<Record<string, string>>,
  clock: Clock,
): PostSpans {
  const all = { ...headers, "content-type": "application/json" };
  return async (body, timeoutMs) => {
    const result = await post(pool, { path, headers: all, body }, timeoutMs, clock);
    if (result.kind === "timed_out") return { kind: "failed", cause: "no answer" };
    if (result.kind === "failed") return result;
    return {
      kind: "answered",
      status: result.status,
      retryAfter: firstOf(result.headers["retry-after"]),
      body: result.body,
    };
  };
}
