/** What `doctor` says of a token request that brought no token, and what to do about it. */
import type { ConfiguredSet } from "../app/token-sources.ts";
import type { Config } from "../config/config.ts";
import { describeNoToken } from "../oauth/endpoint-backoff.ts";
import { isNotAsked, notSigned, type TokenAnswer } from "../oauth/token-endpoint.ts";
import type { EndpointPause } from "../oauth/token-store.ts";
import { type CheckResult, fail, formatSpan, skip } from "./doctor/check.ts";
import { printable } from "./terminal.ts";

/** Why replicas request no token now. */
export function explainBackoff(backoff: EndpointPause, configured: ConfiguredSet, config: Config): CheckResult {
  const { kind, status, remainingMs } = backoff;
  const detail = `a replica reports: the authorization server ${describeNoToken(status)}, and gets no request for another ${formatSpan(remainingMs)}`;
  if (kind === "failing") return fail(detail, "see why the authorization server fails; then run this again");
  return fail(detail, kind === "refused" ? fixRefusal(configured, config) : fixThrottling(config));
}

/** Why the authorization server gave no token, and the fix. */
export function explainNoToken(
  answer: Exclude<TokenAnswer, { kind: "issued" }>,
  configured: ConfiguredSet,
  config: Config,
): CheckResult {
  const { set, tokenUrl } = configured;
  const { status, cause = "UNKNOWN" } = answer;
  if (isNotAsked(answer) && cause !== notSigned) return skip("there is no assertion to send");
  const url = `${tokenUrl.origin}${tokenUrl.path}`;
  const isOwnServer = set.token?.url === undefined;
  const setting = isOwnServer ? "authUrl" : "token.url";
  switch (answer.kind) {
    case "refused": {
      // The service's own server adds nothing to its status; other servers distinguish a wrong scope from a wrong secret.
      const oauthError = set.token === undefined || answer.cause === undefined ? "" : ` ${printable(cause)}`;
      const detail = `refused (${status}${oauthError}) for client ${printable(set.clientId)}`;
      return fail(detail, fixRefusal(configured, config));
    }
    case "throttled": {
      const { retryAfterMs } = answer;
      const retry = retryAfterMs === undefined ? "" : `, to be tried again in ${formatSpan(retryAfterMs)}`;
      return fail(`too many token requests (${status})${retry}`, fixThrottling(config));
    }
    case "malformed":
      return fail("answered, but not with a token", `see what is at ${url}: ${setting} may lead to something else`);
    case "timed_out":
      return fail(
        "no answer in time",
        "see why the authorization server does not answer, or what holds its answers back",
      );
    case "failed":
      break;
  }
  if (status === undefined) {
    if (cause === notSigned) return fail("the client assertion could not be signed", "see that privateKey is whole");
    return fail(`no complete answer (${cause})`, "run this again");
  }
  if (status >= 500) {
    return fail(`the authorization server is in trouble (${status})`, "that is its owner's to fix");
  }
  const meaning = isOwnServer
    ? "token requests go to {authUrl}/oauth/token"
    : "it is the whole address of the token endpoint";
  return fail(`answered ${status} at ${url}`, `correct ${setting}: ${meaning}, no redirect is followed`);
}

function fixRefusal({ set, tokenUrl }: ConfiguredSet, { secretOrigins }: Config): string {
  const { audience, clientSecret, token } = set;
  const clientAuth = token?.clientAuth;
  const signed = clientAuth?.method === "private_key_jwt" ? clientAuth : undefined;
  const secret = signed?.privateKey ?? clientSecret;
  const origin = (secret && secretOrigins?.get(secret)) ?? "the configuration";
  const proofs = {
    post: [`secret (${origin})`],
    basic: [`secret (${origin})`],
    private_key_jwt: [
      `key (${origin})`,
      `aud (${printable(signed?.audience ?? "")}) of the assertion`,
      `its typ (${signed?.type})`,
    ],
    tls: ["certificate (tls.certFile)"],
    assertion: [
      `iss, sub and aud of its assertion${clientAuth?.method === "assertion" ? ` (${clientAuth.file})` : ""}`,
    ],
  }[clientAuth?.method ?? "post"];
  const asked = Object.entries({ audience, scope: token?.scope, resource: token?.resource });
  const wanted = asked.flatMap(([name, value]) => (value === undefined ? [] : [`${name} (${printable(value)})`]));
  const all = ["client id", ...proofs, ...wanted];
  const list = `${all.slice(0, -1).join(", ")} and ${all.at(-1)}`;
  const owner = token?.url === undefined ? "service" : "authorization server";
  const isForEndpoint = signed?.audience === `${tokenUrl.origin}${tokenUrl.path}`;
  const issuer = isForEndpoint ? "; a server that accepts its issuer alone as aud needs token.issuer" : "";
  return `compare ${list} with what the ${owner} has; the set may be deleted, or another environment's${issuer}`;
}

function fixThrottling({ tokens }: Config): string {
  const wait = "wait: nothing else helps";
  return tokens.cache === "memory" ? `${wait}; tokens.cache: redis lets replicas share one token` : wait;
}
