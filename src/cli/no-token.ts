/** What `doctor` and `token` say of a token request that brought no token, and what to do about it. */
import type { ConfiguredSet } from "../app/token-sources.ts";
import type { Config } from "../config/config.ts";
import { endsAnyUse, explainConnectFailure } from "../model/connect-failure.ts";
import { type Address, type CredentialSet, placeOf } from "../model/environment.ts";
import { describeNoToken } from "../oauth/endpoint-backoff.ts";
import { isNotAsked, type NoToken, notSigned, type TokenAnswer } from "../oauth/token-endpoint.ts";
import type { EndpointPause } from "../oauth/token-store.ts";
import { type CheckResult, fail, formatSpan, skip } from "./doctor/check.ts";
import { printable } from "./terminal.ts";

/** Why replicas request no token now. */
export function explainBackoff(backoff: EndpointPause, configured: ConfiguredSet, config: Config): CheckResult {
  const { kind, status, remainingMs } = backoff;
  const detail = `a replica reports: the authorization server ${describeNoToken(status)}, and gets no request for another ${formatSpan(remainingMs)}`;
  // The status alone is shared: a 200 without a token is malformed.
  if (kind === "failing") {
    const answer = { kind: status === 200 ? ("malformed" as const) : ("failed" as const), status };
    return { ...explainNoToken(answer, configured, config), detail };
  }
  return fail(detail, kind === "refused" ? fixRefusal(configured) : fixThrottling(config));
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
  const path = `environments.${configured.environment}`;
  const setting = isOwnServer ? `${path}.authUrl` : "token.url";
  switch (answer.kind) {
    case "refused": {
      // The service's own server adds nothing to its status; other servers distinguish a wrong scope from a wrong secret.
      const oauthError = set.token === undefined || answer.cause === undefined ? "" : ` ${printable(cause)}`;
      const detail = `refused (${status}${oauthError}) for client ${printable(set.clientId)}`;
      return fail(detail, fixRefusal(configured, answer));
    }
    case "throttled": {
      const { retryAfterMs } = answer;
      const retry = retryAfterMs === undefined ? "" : `, to be tried again in ${formatSpan(retryAfterMs)}`;
      return fail(`too many token requests (${status})${retry}`, fixThrottling(config));
    }
    case "malformed":
      return fail(
        "answered, but not with a token",
        `see what is at ${url}: ${setting} may lead to a web page; compare it with the portal`,
      );
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
    return (
      explainNotReached(cause, tokenUrl, { setting, path }, config) ??
      fail(`no complete answer (${cause})`, "run this again")
    );
  }
  if (status >= 500) {
    return fail(`the authorization server is in trouble (${status})`, "that is its owner's to fix");
  }
  const meaning = isOwnServer
    ? "token requests go to {authUrl}/oauth/token"
    : "it is the whole address of the token endpoint";
  return fail(`answered ${status} at ${url}`, `correct ${setting}: ${meaning}, no redirect is followed`);
}

/**
 * Undefined if the server may have been reached.
 * @param path of its environment's settings
 */
function explainNotReached(
  code: string,
  url: Address,
  { setting, path }: { readonly setting: string; readonly path: string },
  { timeouts }: Config,
): CheckResult | undefined {
  if (endsAnyUse(code)) return undefined;
  const place = placeOf(url);
  const settings = { setting, tlsSetting: `${path}.tls`, egressSetting: `${path}.egress` };
  const found = explainConnectFailure(code, { place, ...settings, connectTimeoutMs: timeouts.connectMs });
  return found && fail(`${place}: ${found.detail}`, found.fix);
}

/** What a refusal with this `error` asks for (RFC 6749 section 5.2, RFC 8707 section 2, RFC 9449 section 5), of other servers than the service's. */
const fixes: { readonly [error: string]: (configured: ConfiguredSet) => string } = {
  invalid_dpop_proof: () => withoutDpop,
  invalid_request: () => `see in the authorization server's log what it misses. ${withoutDpop}, if that is it`,
  invalid_scope: ({ set }) => {
    const scope = set.token?.scope;
    if (scope === undefined) return "write token.scope: the authorization server demands one";
    return `compare scope (${printable(scope)}) with what the client may have`;
  },
  invalid_target: ({ set }) =>
    `compare ${listOf(wantedBy(set)) || "audience and token.resource"} with what the client may have`,
  unsupported_grant_type: ({ tokenUrl }) =>
    `see that ${tokenUrl.origin}${tokenUrl.path} is the token endpoint, and has the grant client_credentials`,
  use_dpop_nonce: () => withoutDpop,
};
const withoutDpop = "let the authorization server give this client bearer tokens: Countersign makes no DPoP proofs";

function fixRefusal(configured: ConfiguredSet, { status, cause }: Refusal = {}): string {
  const { set, tokenUrl } = configured;
  const { token } = set;
  if (token === undefined) {
    return `${compare(configured)} with what the service has; the set may be deleted, or another environment's`;
  }
  const fix = fixes[cause ?? ""];
  if (fix !== undefined) return fix(configured);
  const { clientAuth } = token;
  const more: string[] = [];
  // Keycloak says so of a wrong secret too.
  if (cause === "unauthorized_client") {
    more.push("see that the client may use the grant client_credentials (Keycloak: service account roles)");
  }
  if (token.body === "json" && cause === undefined) more.push("a server that reads no JSON needs token.body: form");
  if (clientAuth.method === "basic" && isEncoded(set)) {
    more.push("a server that takes client id and secret as they are needs clientAuth: basic_raw");
  }
  const isForEndpoint =
    clientAuth.method === "private_key_jwt" && clientAuth.audience === `${tokenUrl.origin}${tokenUrl.path}`;
  if (isForEndpoint) more.push("a server that accepts its issuer alone as aud needs token.issuer");
  const way = status === 403 ? "" : `, and clientAuth (${clientAuth.method})`;
  const owner = token.url === undefined ? "service" : "authorization server";
  const compared = `${compare(configured)}${way} with what the ${owner} has`;
  return [compared, "the set may be deleted, or another environment's", ...more].join("; ");
}

type Refusal = Partial<Pick<NoToken, "status" | "cause">>;

/** Whether HTTP Basic sends something else than the text itself (RFC 6749 section 2.3.1). */
function isEncoded({ clientId, clientSecret }: CredentialSet): boolean {
  return /[^A-Za-z0-9*._-]/.test(`${clientId}${clientSecret?.reveal() ?? ""}`);
}

function compare({ set }: ConfiguredSet): string {
  const { clientSecret, token } = set;
  const clientAuth = token?.clientAuth;
  const signed = clientAuth?.method === "private_key_jwt" ? clientAuth : undefined;
  const secret = signed?.privateKey ?? clientSecret;
  const origin = secret?.origin ?? "the configuration";
  const shared = [`secret (${origin})`];
  const proofs = {
    post: shared,
    basic: shared,
    basic_raw: shared,
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
  return `compare ${listOf(["client id", ...proofs, ...wantedBy(set)])}`;
}

/** What the set asks for, with its values. */
function wantedBy({ audience, token }: CredentialSet): string[] {
  const asked = Object.entries({ audience, scope: token?.scope, resource: token?.resource });
  return asked.flatMap(([name, value]) => (value === undefined ? [] : [`${name} (${printable(value)})`]));
}

function listOf(names: readonly string[]): string {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function fixThrottling({ tokens }: Config): string {
  const wait = "wait: nothing else helps";
  return tokens.cache === "memory" ? `${wait}; tokens.cache: redis lets replicas share one token` : wait;
}
