import type { PlacedSet } from "../../app/token-owners.ts";
import { authUrlOf } from "../../app/upstreams.ts";
import type { Config } from "../../config/config.ts";
import type { EndpointPause } from "../../oauth/shared-limits.ts";
import type { TokenAnswer } from "../../oauth/token-endpoint.ts";
import { type Finding, fail, formatSpan, printable } from "./check.ts";

/** Why nobody is to ask for a token now. */
export function explainPause({ kind, status, remainingMs }: EndpointPause, placed: PlacedSet, config: Config): Finding {
  const told = status === undefined ? "did not answer" : `answered ${status}`;
  const detail = `a replica was told: the authorization server ${told}, and is left alone for another ${formatSpan(remainingMs)}`;
  if (kind === "refused") return fail(detail, fixRefusal(placed, config));
  return fail(
    detail,
    kind === "throttled" ? fixThrottling(config) : "see what the authorization server is at; then run this again",
  );
}

/** Why there is no token. */
export function explainAnswer(
  answer: Exclude<TokenAnswer, { kind: "issued" }>,
  placed: PlacedSet,
  config: Config,
): Finding {
  const { origin, path } = authUrlOf(placed.environment);
  const url = `${origin}${path}/oauth/token`;
  switch (answer.kind) {
    case "refused":
      return fail(
        `refused (${answer.status}) for client ${printable(placed.set.clientId)}`,
        fixRefusal(placed, config),
      );
    case "throttled": {
      const { retryAfterMs } = answer;
      const wait = retryAfterMs === undefined ? "" : `, to be tried again in ${formatSpan(retryAfterMs)}`;
      return fail(`too many token requests (${answer.status})${wait}`, fixThrottling(config));
    }
    case "malformed":
      return fail("answered, but not with a token", `see what is at ${url}: authUrl may lead to something else`);
    case "timed_out":
      return fail(
        "no answer in time",
        "see why the authorization server does not answer, or what holds its answers back",
      );
    case "failed":
      return explainStatus(answer.status, url);
  }
}

function explainStatus(status: number | undefined, url: string): Finding {
  if (status === undefined) return fail("the connection broke before the answer was complete", "run this again");
  if (status >= 500) return fail(`the authorization server is in trouble (${status})`, "that is its owner's to fix");
  return fail(
    `answered ${status} at ${url}`,
    "correct authUrl: token requests go to {authUrl}/oauth/token, no redirect is followed",
  );
}

function fixRefusal({ set }: PlacedSet, config: Config): string {
  const origin = config.secretOrigins?.get(set.clientSecret) ?? "the configuration";
  return (
    `compare client id, secret (${origin}) and audience (${printable(set.audience)}) with what the service has; ` +
    "the set may be deleted, or another environment's"
  );
}

function fixThrottling({ tokens }: Config): string {
  const wait = "wait: nothing else helps";
  return tokens.cache === "memory" ? `${wait}; tokens.cache: redis lets replicas share one token` : wait;
}
