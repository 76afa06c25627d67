import type { Pool } from "undici";
import type { Clock } from "../../model/clock.ts";
import type { TokenEndpoint } from "../../oauth/token-endpoint.ts";
import { codeOf } from "./transport-error.ts";

/** A token response is a few hundred bytes. */
const longestResponseBytes = 65_536;

/** Posts to the token endpoint at a path. Redirects come back as what they are; nothing is repeated. */
export function createPostTokenRequest(pool: Pool, path: string, clock: Clock): TokenEndpoint["post"] {
  return async ({ contentType, body, authorization }, timeoutMs) => {
    const deadline = new AbortController();
    const cancel = clock.after(timeoutMs, () => deadline.abort());
    try {
      const response = await pool.request({
        method: "POST",
        path,
        signal: deadline.signal,
        body,
        headers: {
          accept: "application/json",
          "content-type": contentType,
          ...(authorization === undefined ? {} : { authorization }),
        },
      });
      const text = await readBounded(response.body);
      if (text === undefined) return { kind: "malformed", cause: "answer too long" };
      return {
        kind: "answered",
        status: response.statusCode,
        retryAfter: single(response.headers["retry-after"]),
        date: single(response.headers["date"]),
        body: text,
      };
    } catch (error) {
      return deadline.signal.aborted
        ? { kind: "timed_out", cause: "no answer" }
        : { kind: "failed", cause: codeOf(error) };
    } finally {
      cancel();
    }
  };
}

/** Leaving the loop early destroys the stream, so the rest is never received. */
async function readBounded(body: AsyncIterable<Buffer>): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > longestResponseBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
