/** What `doctor` and `token` say of a token request that brought no token, and what to do about it. */
import { formatSpan } from "../model/clock.ts";
import { type Asked, explainNoToken } from "../oauth/no-token.ts";
import { isNotAsked, noAnswer, notSigned, type TokenAnswer } from "../oauth/token-endpoint.ts";
import type { EndpointPause } from "../oauth/token-store.ts";
import { type CheckResult, fail, skip } from "./doctor/check.ts";

/** Why replicas request no token now. */
export function reportBackoff({ status, remainingMs }: EndpointPause, asked: Asked): CheckResult {
  const { detail, fix } = explainNoToken({ status }, asked, "operator");
  return fail(
    `a replica reports: ${detail}, and it is asked again by itself in ${formatSpan(Math.max(remainingMs, 1_000))}`,
    fix,
  );
}

/** Why the authorization server gave no token, and the fix. */
export function reportNoToken(answer: Exclude<TokenAnswer, { kind: "issued" }>, asked: Asked): CheckResult {
  const { kind, status, cause = kind === "timed_out" ? noAnswer : undefined } = answer;
  if (isNotAsked(answer) && cause !== notSigned) return skip("there is no assertion to send");
  const { detail, fix } = explainNoToken({ status, cause }, asked, "operator");
  const retryAfterMs = kind === "throttled" ? answer.retryAfterMs : undefined;
  const retry = retryAfterMs === undefined ? "" : `, to be tried again in ${formatSpan(retryAfterMs)}`;
  return fail(`${detail}${retry}`, fix);
}
