import type { ConfiguredSet } from "../../app/token-owners.ts";
import type { Config } from "../../config/config.ts";
import { longestLeewayMs } from "../../oauth/token.ts";
import { fetchDeadlineMs, type PostForm, requestToken } from "../../oauth/token-endpoint.ts";
import type { IssuedToken } from "../../oauth/token-store.ts";
import { type Finding, formatSpan, ok, skip, warn } from "./check.ts";
import { explainAnswer, explainPause } from "./explain-token.ts";
import { patiently, type Run } from "./run.ts";
import type { Shared, TokenShelf } from "./token-shelf.ts";

/** A shared token with less of its life left should have been refreshed by now: `serve` would ask for a new one too. */
const overdueShare = 0.1;

export interface TokenParts {
  readonly shelf: TokenShelf;
  readonly post: PostForm;
  /** What was found on the shelf. */
  readonly shared: Shared;
}

/** Whether a set gets tokens. One is asked for only where no other proves that already: quotas count them. */
export async function examineToken(placed: ConfiguredSet, parts: TokenParts, visit: Run): Promise<Finding> {
  const { token } = parts.shared;
  if (token === undefined || token.remainingMs <= longestLeewayMs(token.lifetimeMs))
    return askIfFree(placed, parts, visit);
  const inCache = `in the shared cache, live for another ${formatSpan(token.remainingMs)}`;
  if (token.remainingMs > token.lifetimeMs * overdueShare) return ok(`${inCache}; none was asked for`);
  const found = await askIfFree(placed, parts, visit);
  if (found.verdict === "skipped") return ok(`${inCache}; none was asked for`);
  // `serve` uses the token that there is to its leeway.
  return found.verdict === "fail"
    ? { ...found, verdict: "warn", detail: `${inCache}, and due; ${found.detail}` }
    : found;
}

/** Asks for a token, unless replicas were told to wait. */
async function askIfFree(placed: ConfiguredSet, parts: TokenParts, visit: Run): Promise<Finding> {
  const { pause } = parts.shared;
  if (pause !== undefined) return explainPause(pause, placed, visit.config);
  if (!visit.withToken) return skip("not asked for (--no-token)");
  return askForToken(placed, parts, visit);
}

async function askForToken(placed: ConfiguredSet, parts: TokenParts, visit: Run): Promise<Finding> {
  const { clock, config } = visit;
  const sinceMs = clock.nowMs();
  const asking = requestToken(parts.post, placed.set, () => clock.wallMs());
  const answer = (await patiently(visit, asking, fetchDeadlineMs)) ?? ({ kind: "timed_out" } as const);
  const tookMs = clock.nowMs() - sinceMs;
  if (answer.kind !== "issued") return explainAnswer(answer, placed, config);
  const where = await shelve(placed, parts, answer.grant, tookMs, config);
  const detail = `issued, valid for ${formatSpan(answer.grant.lifetimeMs)}, ${where}`;
  if (tookMs <= config.timeouts.tokenMs) return ok(detail);
  const late = `${detail}; that took longer than requests wait for it (timeouts.token, ${config.timeouts.tokenMs} ms)`;
  return warn(late, "see why the authorization server is slow; raise timeouts.token if that is its way");
}

/** As `serve` would, so that it is not wasted; but another replica's value stays, as the evidence that it is. */
async function shelve(
  { tokenKey }: ConfiguredSet,
  { shelf, shared }: TokenParts,
  grant: IssuedToken,
  ageMs: number,
  { tokens }: Config,
): Promise<string> {
  if (tokens.cache === "memory") return "not kept (tokens.cache is memory)";
  if (shared.result === "unreadable") return "not kept, since another value is in its place";
  return (await shelf.keep(tokenKey, grant, ageMs)) ? "and shared from now on" : "but Redis did not take it";
}
