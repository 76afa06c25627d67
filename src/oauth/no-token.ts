import { endsAnyUse, explainConnectFailure } from "../model/connect-failure.ts";
import type { Address, CredentialSet } from "../model/environment.ts";
import { isNotAsked, type NoToken, noAnswer, notSigned } from "./token-endpoint.ts";

/** A credential set, and where its tokens come from. */
export interface Asked {
  /** Its environment's name. */
  readonly environment: string;
  readonly set: CredentialSet;
  /** The token endpoint. */
  readonly tokenUrl: Address;
}

type Failure = Partial<Pick<NoToken, "status" | "cause">>;

/** `operator` reads addresses, files and the values of settings; `caller` the same words without them. */
type Reader = "operator" | "caller";

/** Why a token request brought no token, and what to do, as clauses: the same words in the log, on the status page, in the commands and for callers. */
export function explainNoToken(failure: Failure, asked: Asked, reader: Reader): { detail: string; fix: string } {
  const { status, cause } = failure;
  const { environment, set, tokenUrl } = asked;
  const isForCaller = reader === "caller";
  const place = isForCaller ? "the authorization server" : tokenUrl.origin;
  const url = isForCaller ? place : `${tokenUrl.origin}${tokenUrl.path}`;
  const path = isForCaller ? "" : `environments.${environment}.`;
  const isOwnServer = set.token?.url === undefined;
  const setting = isOwnServer ? `${path}authUrl` : "token.url";
  const known = [status, cause].filter((each) => each !== undefined).join(", ");
  const because = (clause: string, fix: string) => ({ detail: known === "" ? clause : `${clause} (${known})`, fix });
  if (status === undefined) {
    if (isNotAsked(failure)) return because("no token was requested", fixAssertion(asked, cause, reader));
    const held = "see why it does not answer, or what holds its answers back";
    if (cause === noAnswer) return because(`${place} does not answer in time`, held);
    const peer = { place, setting, tlsSetting: `${path}tls`, egressSetting: `${path}egress` };
    const found = cause === undefined || endsAnyUse(cause) ? undefined : explainConnectFailure(cause, peer);
    if (found !== undefined) {
      return { detail: `${isForCaller ? "no connection to " : ""}${place}: ${found.detail}`, fix: found.fix };
    }
    const between = `if it lasts, see what stands between here and ${place} (proxy, firewall, service mesh)`;
    return because(`${place} gives no complete answer`, between);
  }
  switch (status) {
    case 200: {
      const fix = `see what is at ${url}: ${setting} may lead to something else, such as a web page`;
      return because(`${place} answers, but not with a token`, fix);
    }
    case 400:
    case 401:
    case 403:
      return because(`${place} refuses the set`, fixRefusal(failure, asked, reader));
    case 429: {
      const fix = "wait; if it lasts, see what else requests tokens with this client or from this address";
      return because(`${place} gets too many token requests`, fix);
    }
  }
  if (status >= 500) return because(`${place} is in trouble`, "wait; if it lasts, that is its owner's to fix");
  const meaning = isOwnServer
    ? "token requests go to {authUrl}/oauth/token"
    : "it is the whole address of the token endpoint";
  return because(`${url} is no token endpoint`, `correct ${setting}: ${meaning}, no redirect is followed`);
}

function fixAssertion({ set }: Asked, cause: string | undefined, reader: Reader): string {
  if (cause === notSigned) return "see that privateKey is whole";
  const clientAuth = set.token?.clientAuth;
  const file = clientAuth?.method === "assertion" && reader === "operator" ? clientAuth.file : "its file";
  return `see what renews ${file}: the kubelet (a projected token), spiffe-helper or another agent`;
}

const withoutDpop = "let the authorization server give this client bearer tokens: Countersign makes no DPoP proofs";

/** What a refusal with this `error` asks for (RFC 6749 section 5.2, RFC 8707 section 2, RFC 9449 section 5), of other servers than the service's. */
const fixes: { readonly [error: string]: (asked: Asked, reader: Reader) => string } = {
  invalid_dpop_proof: () => withoutDpop,
  invalid_request: () => `see in the authorization server's log what it misses. ${withoutDpop}, if that is it`,
  invalid_scope: ({ set: { token } }, reader) =>
    token?.scope === undefined
      ? "write token.scope: the authorization server demands one"
      : `compare ${show("scope", token.scope, reader)} with what the client may have`,
  invalid_target: ({ set }, reader) =>
    `compare ${listOf(wantedBy(set, reader)) || "audience and token.resource"} with what the client may have`,
  unsupported_grant_type: ({ tokenUrl }, reader) => {
    const url = reader === "caller" ? "its address" : `${tokenUrl.origin}${tokenUrl.path}`;
    return `see that ${url} is the token endpoint, and has the grant client_credentials`;
  },
  use_dpop_nonce: () => withoutDpop,
};

function fixRefusal({ status, cause }: Failure, asked: Asked, reader: Reader): string {
  const { set, tokenUrl } = asked;
  const { token } = set;
  if (token === undefined) {
    return `${compare(set, reader)} with what the service has; the set may be deleted, or another environment's`;
  }
  const fix = fixes[cause ?? ""];
  if (fix !== undefined) return fix(asked, reader);
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
  const compared = `${compare(set, reader)}${way} with what the ${owner} has`;
  return [compared, "the set may be deleted, or another environment's", ...more].join("; ");
}

/** Whether HTTP Basic sends something else than the text itself (RFC 6749 section 2.3.1). */
function isEncoded({ clientId, clientSecret }: CredentialSet): boolean {
  return /[^A-Za-z0-9*._-]/.test(`${clientId}${clientSecret?.reveal() ?? ""}`);
}

function compare(set: CredentialSet, reader: Reader): string {
  return `compare ${listOf([show("client id", set.clientId, reader), ...proofsOf(set, reader), ...wantedBy(set, reader)])}`;
}

/** What proves the client, and where it is. */
function proofsOf({ clientSecret, token }: CredentialSet, reader: Reader): string[] {
  const clientAuth = token?.clientAuth;
  const origin = (secret = clientSecret) => secret?.origin ?? "the configuration";
  switch (clientAuth?.method) {
    case "private_key_jwt":
      return [
        show("key", origin(clientAuth.privateKey), reader),
        `${show("aud", clientAuth.audience, reader)} of the assertion`,
        `its ${show("typ", clientAuth.type, reader)}`,
      ];
    case "tls":
      return ["certificate (tls.certFile)"];
    case "assertion":
      return [show("iss, sub and aud of its assertion", clientAuth.file, reader)];
    default:
      return [show("secret", origin(), reader)];
  }
}

/** What the set asks for. */
function wantedBy({ audience, token }: CredentialSet, reader: Reader): string[] {
  const asked = Object.entries({ audience, scope: token?.scope, resource: token?.resource });
  return asked.flatMap(([name, value]) => (value === undefined ? [] : [show(name, value, reader)]));
}

function show(name: string, value: string, reader: Reader): string {
  return reader === "caller" ? name : `${name} (${value})`;
}

function listOf(names: readonly string[]): string {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
