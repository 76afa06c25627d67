import type { Pool } from "undici";
import type { Clock } from "../../model/clock.ts";
import type { PostForm } from "../../oauth/token-endpoint.ts";
import { codeOf } from "./transport-error.ts";

/** A token answer is a few hundred bytes. */
const longestAnswerBytes = 65_536;

/** Posts to `{authUrl}/oauth/token`. Redirects come back as what they are; nothing is repeated. */
export function createPostForm(pool: Pool, path: string, clock: Clock): PostForm {
  return async (body, timeoutMs) => {
    const ending = new AbortController();
    const cancel = clock.after(timeoutMs, () => ending.abort());
    try {
      const answer = await pool.request({
        method: "POST",
        path,
        signal: ending.signal,
        body,
        headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
      });
      const text = await readBounded(answer.body);
      if (text === undefined) return { kind: "malformed", cause: "answer too long" };
      return {
        kind: "answered",
        status: answer.statusCode,
        retryAfter: single(answer.headers["retry-after"]),
        date: single(answer.headers["date"]),
        body: text,
      };
    } catch (error) {
      return ending.signal.aborted
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
    if (length > longestAnswerBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
