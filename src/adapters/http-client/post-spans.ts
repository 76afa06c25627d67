import type { Pool } from "undici";
import type { Clock } from "../../model/clock.ts";
import type { PostSpans } from "../../tracing/span-exporter.ts";
import { codeOf } from "./transport-error.ts";

/** An ExportTraceServiceResponse is a few bytes. */
const longestResponseBytes = 65_536;

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
  return async (body, timeoutMs) => {
    const deadline = new AbortController();
    const cancel = clock.after(timeoutMs, () => deadline.abort());
    try {
      const { signal } = deadline;
      const all = { ...headers, "content-type": "application/json" };
      const response = await pool.request({ method: "POST", path, signal, body, headers: all });
      const text = await readStart(response.body);
      const retryAfter = response.headers["retry-after"];
      const after = Array.isArray(retryAfter) ? retryAfter[0] : retryAfter;
      return { kind: "answered", status: response.statusCode, retryAfter: after, body: text };
    } catch (error) {
      return { kind: "failed", cause: deadline.signal.aborted ? "no answer" : codeOf(error) };
    } finally {
      cancel();
    }
  };
}

/** Leaving the loop early destroys the stream, so the rest is never received. */
async function readStart(body: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const chunk of body) {
    text += chunk.toString("latin1");
    if (text.length > longestResponseBytes) break;
  }
  return text;
}
