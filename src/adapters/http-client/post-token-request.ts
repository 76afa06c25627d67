import type { Clock } from "../../model/clock.ts";
import type { TokenEndpoint } from "../../oauth/token-endpoint.ts";
import { firstOf, post } from "./post.ts";
import type { Pool } from "./undici-pool.ts";

/** Posts to the token endpoint at a path. */
export function createPostTokenRequest(pool: Pool, path: string, clock: Clock): TokenEndpoint["post"] {
  return async ({ contentType, body, authorization }, timeoutMs) => {
    const headers = {
      accept: "application/json",
      "content-type": contentType,
      ...(authorization === undefined ? {} : { authorization }),
    };
    const result = await post(pool, { path, headers, body }, timeoutMs, clock);
    if (result.kind === "timed_out") return { kind: "timed_out", cause: "no answer" };
    if (result.kind === "failed") return result;
    if (!result.isWhole) return { kind: "malformed", cause: "answer too long" };
    return {
      kind: "answered",
      status: result.status,
      retryAfter: firstOf(result.headers["retry-after"]),
      date: firstOf(result.headers["date"]),
      body: result.body,
    };
  };
}
