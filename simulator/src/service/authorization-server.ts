import type { IncomingMessage } from "node:http";
import { type Answer, answerJson } from "./answer.ts";
import { countDelivery, type Totals } from "./counts.ts";
import type { CredentialSets } from "./credential-sets.ts";
import { takesEffect } from "./fault.ts";
import type { FaultPlan } from "./faults.ts";
import type { Exchange } from "./listening-host.ts";
import { type HonestAnswer, playFault } from "./play-fault.ts";
import { isForm, isJson, readForm, readJson } from "./read-parameters.ts";
import { receiveBody } from "./request-body.ts";
import type { HostLog, TokenRequest } from "./request-log.ts";
import type { SimulatedCredentials } from "./sites.ts";
import type { TokenIssuer } from "./token-issuer.ts";

/** The parts of the authorization server. */
export interface AuthorizationServer {
  readonly sets: CredentialSets;
  readonly issuer: TokenIssuer;
  readonly plan: FaultPlan;
  readonly requests: HostLog<TokenRequest>;
  readonly totals: Totals;
  readonly nowMs: () => number;
  readonly log: (line: string) => void;
}

/** Serves one request to the authorization server (spec 4.2). */
export async function serveTokenRequest(exchange: Exchange, login: AuthorizationServer): Promise<void> {
  const { request } = exchange;
  const { plan, sets, totals } = login;
  const body = await receiveBody(exchange, "login", plan, totals);
  if (body === undefined) return;
  const grant = readGrant(request, body);
  const owner = grant.clientId === undefined ? undefined : sets.find(grant.clientId)?.owner;
  const planned = plan.take("login", { siteIdentifier: undefined, site: owner, clientId: grant.clientId });
  if (planned?.fault.kind === "revoke_tokens") login.issuer.revokeAll();
  const { answer, refusal } = decide(grant, takesEffect(planned?.fault), login);
  const { token } = answer.names;
  const record = login.requests.add({
    receivedAtMs: login.nowMs(),
    method: request.method ?? "",
    target: request.url ?? "",
    rawHeaders: request.rawHeaders,
    contentType: request.headers["content-type"],
    clientId: grant.clientId,
    refusal,
    token,
    fault: planned?.fault.kind,
  });
  const delivery = await playFault(exchange, answer, planned, plan);
  countDelivery(totals, delivery);
  login.requests.recordAnswer(record, delivery);
  login.log(describe(record));
}

interface Decision {
  readonly refusal: string | undefined;
  readonly answer: HonestAnswer;
}

/** Issues the token, which exists from here on, even if the answer is lost. */
function decide(grant: Grant, isExecuted: boolean, { sets, issuer }: AuthorizationServer): Decision {
  if (!grant.ok) return refused(grant.refusal, answerError(grant.status, grant.error, grant.refusal));
  const set = sets.check(grant.credentials);
  // One body for every reason, so that a client learns nothing from it; the log has the reason.
  if (typeof set === "string") return refused(set, answerError(401, "access_denied", "Unauthorized"));
  // Never sent: a fault that prevents a request's effect brings its own answer.
  if (!isExecuted) return { refusal: undefined, answer: { ...answerError(500, "server_error", ""), names: {} } };
  const { token } = issuer.issue(set);
  const value = { access_token: token, token_type: "Bearer", expires_in: issuer.lifetimeSeconds };
  return { refusal: undefined, answer: { ...answerJson(200, value, noStore), names: { token } } };
}

const noStore = { "cache-control": "no-store" };

function refused(refusal: string, answer: Answer): Decision {
  return { refusal, answer: { ...answer, names: {} } };
}

function answerError(status: number, error: string, description: string): Answer {
  const allow = status === 405 ? { allow: "POST" } : {};
  return answerJson(status, { error, error_description: description }, { ...noStore, ...allow });
}

function describe({ method, target, clientId, token, refusal, fault, answer }: TokenRequest): string {
  const facts = [clientId, token, refusal, fault && `fault=${fault}`].filter(Boolean).join(" ");
  return `login ${method} ${target} ${facts} -> ${answer?.status ?? "no answer"} ${answer?.ending}`;
}

/** A parsed token request; only the check uses the secret. */
export type Grant =
  | { readonly ok: true; readonly clientId: string; readonly credentials: SimulatedCredentials }
  | {
      readonly ok: false;
      readonly clientId: string | undefined;
      readonly status: number;
      /** The code of RFC 6749 section 5.2, if there is one. */
      readonly error: string;
      readonly refusal: string;
    };

/** Reads a token request: JSON or form, four required strings, `client_credentials` only (spec 4.2). */
function readGrant(request: IncomingMessage, body: Buffer): Grant {
  const contentType = request.headers["content-type"];
  if (request.url !== "/oauth/token") return refuse(404, "not_found", "tokens are at /oauth/token");
  if (request.method !== "POST") return refuse(405, "method_not_allowed", "tokens are requested with POST");
  if (!isJson(contentType) && !isForm(contentType)) {
    return refuse(415, "unsupported_media_type", "content-type is neither JSON nor a form");
  }
  const reading = isForm(contentType) ? readForm(body) : readJson(body);
  if (!reading.ok) return refuse(400, "invalid_request", `${reading.code}: ${reading.detail}`);
  const field = (name: string) => reading.parameters.get(name) ?? "";
  const clientId = field("client_id");
  for (const name of ["grant_type", "client_id", "client_secret", "audience"]) {
    if (field(name) === "") return refuse(400, "invalid_request", `${name} is missing or empty`, clientId);
  }
  if (field("grant_type") !== "client_credentials") {
    return refuse(400, "unsupported_grant_type", "grant_type is not client_credentials", clientId);
  }
  const credentials = { clientId, clientSecret: field("client_secret"), audience: field("audience") };
  return { ok: true, clientId, credentials };
}

function refuse(status: number, error: string, refusal: string, clientId?: string): Grant {
  return { ok: false, clientId: clientId || undefined, status, error, refusal };
}
