import { type Answer, answerJson } from "./answer.ts";
import { countDelivery, type Totals } from "./counts.ts";
import type { CredentialSets } from "./credential-sets.ts";
import { takesEffect } from "./fault.ts";
import type { FaultPlan } from "./faults.ts";
import type { Exchange } from "./listening-host.ts";
import { type HonestAnswer, playFault } from "./play-fault.ts";
import { type Grant, readGrant } from "./read-grant.ts";
import { receiveBody } from "./receive.ts";
import type { Log, TokenRequest } from "./seen.ts";
import type { TokenDesk } from "./token-desk.ts";

/** What the authorization server works with. */
export interface LoginHost {
  readonly sets: CredentialSets;
  readonly desk: TokenDesk;
  readonly plan: FaultPlan;
  readonly requests: Log<TokenRequest>;
  readonly totals: Totals;
  readonly nowMs: () => number;
  readonly log: (line: string) => void;
}

/** Serves one request to the authorization server (spec 4.2). */
export async function serveLogin(exchange: Exchange, login: LoginHost): Promise<void> {
  const { request } = exchange;
  const { plan, sets, totals } = login;
  const body = await receiveBody(exchange, "login", plan, totals);
  if (body === undefined) return;
  const grant = readGrant(request, body);
  const owner = grant.clientId === undefined ? undefined : sets.find(grant.clientId)?.owner;
  const planned = plan.take("login", { siteIdentifier: undefined, site: owner, clientId: grant.clientId });
  if (planned?.fault.kind === "revoke_tokens") login.desk.revokeAll();
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
  login.requests.settle(record, delivery);
  login.log(describe(record));
}

interface Decision {
  readonly refusal: string | undefined;
  readonly answer: HonestAnswer;
}

/** Issues the token at once: it exists from here on, whatever becomes of the answer. */
function decide(grant: Grant, isExecuted: boolean, { sets, desk }: LoginHost): Decision {
  if (!grant.ok) return refused(grant.refusal, answerError(grant.status, grant.error, grant.refusal));
  const set = sets.check(grant.credentials);
  // One body for every reason, as an authorization server that gives nothing away would; the log knows the reason.
  if (typeof set === "string") return refused(set, answerError(401, "access_denied", "Unauthorized"));
  // Never sent: whatever keeps a request from taking effect brings its own answer.
  if (!isExecuted) return { refusal: undefined, answer: { ...answerError(500, "server_error", ""), names: {} } };
  const { token } = desk.issue(set);
  const value = { access_token: token, token_type: "Bearer", expires_in: desk.lifetimeSeconds };
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
