import { answerJson } from "./answer.ts";
import { countDelivery, type Totals } from "./counts.ts";
import { takesEffect } from "./fault.ts";
import type { FaultPlan, PlannedFault, Sender } from "./faults.ts";
import type { Exchange } from "./listening-host.ts";
import { type HonestAnswer, playFault } from "./play-fault.ts";
import { type Call, readCall } from "./read-call.ts";
import type { Refusal } from "./refusals.ts";
import { receiveBody } from "./request-body.ts";
import type { ApiRequest, HostLog } from "./request-log.ts";
import { type OrderRules, type Verdict, verifyOrder } from "./verify-order.ts";

/** The parts of the JSON API. */
export interface ApiHost {
  readonly rules: OrderRules;
  readonly plan: FaultPlan;
  readonly requests: HostLog<ApiRequest>;
  readonly totals: Totals;
  readonly log: (line: string) => void;
}

/** Serves one request to the JSON API: read, judge, write down, answer. */
export async function serveApi(exchange: Exchange, api: ApiHost): Promise<void> {
  const { request } = exchange;
  const { plan, rules, totals } = api;
  const body = await receiveBody(exchange, "api", plan, totals);
  if (body === undefined) return;
  const call = readCall(request, body);
  const planned = plan.take("api", senderOf(call, rules));
  if (planned?.fault.kind === "revoke_tokens") rules.token.issuer.revokeAll();
  const verdict = verifyOrder(call, rules);
  const record = writeDown(exchange, call, verdict, planned, api);
  const delivery = await playFault(exchange, answerTo(record, verdict), planned, plan);
  countDelivery(totals, delivery);
  api.requests.recordAnswer(record, delivery);
  api.log(describe(record));
}

function senderOf(call: Call, rules: OrderRules): Sender {
  const siteIdentifier = call.reading.ok ? call.reading.parameters.get("site_identifier") : undefined;
  const token = tokenOf(call);
  return {
    siteIdentifier,
    site: siteIdentifier === undefined ? undefined : rules.directory.identify(siteIdentifier)?.site.identifier,
    clientId: token === undefined ? undefined : rules.token.issuer.find(token)?.clientId,
  };
}

function tokenOf({ authorization }: Call): string | undefined {
  return authorization.method === "oauth" ? authorization.token : undefined;
}

/** The order exists from here on, even if the answer is lost. */
function writeDown(
  { request }: Exchange,
  call: Call,
  verdict: Verdict,
  planned: PlannedFault | undefined,
  { requests, rules, totals }: ApiHost,
): ApiRequest {
  const isExecuted = verdict.accepted && takesEffect(planned?.fault);
  totals[columnOf(verdict, isExecuted)] += 1;
  return requests.add({
    receivedAtMs: rules.parameters.nowMs(),
    method: call.method,
    target: call.target,
    rawHeaders: request.rawHeaders,
    body: call.body,
    auth: call.authorization.method,
    site: senderOf(call, rules).site,
    token: tokenOf(call),
    refusal: verdict.accepted ? undefined : verdict.refusal,
    orderId: isExecuted ? `order_${totals.accepted}` : undefined,
    fault: planned?.fault.kind,
  });
}

function columnOf(verdict: Verdict, isExecuted: boolean): "accepted" | "replaced" | "unauthorized" | "refused" {
  if (verdict.accepted) return isExecuted ? "accepted" : "replaced";
  return verdict.refusal.status === 401 ? "unauthorized" : "refused";
}

/** The bodies are the simulator's own: the specification shows none (spec 4.1, 7). */
function answerTo({ number, orderId }: ApiRequest, verdict: Verdict): HonestAnswer {
  const headers = { "x-request-id": `api_${number}` };
  const names = { order_id: orderId };
  if (!verdict.accepted) return { ...answerRefusal(verdict.refusal, headers), names };
  const received = Object.fromEntries([...verdict.parameters].filter(([name]) => name !== "signature"));
  const order = { order_id: orderId, operation: verdict.operation, received };
  return { ...answerJson(200, { status: "ok", order }, headers), names };
}

function answerRefusal({ code, status, detail }: Refusal, headers: Record<string, string>) {
  const hint: Record<string, string> =
    status === 401 ? { "www-authenticate": 'Bearer error="invalid_token"' } : status === 405 ? { allow: "POST" } : {};
  return answerJson(status, { status: "error", error: code, detail }, { ...headers, ...hint });
}

function describe({ method, target, site, auth, token, orderId, refusal, fault, answer }: ApiRequest): string {
  const facts = [site, auth, token, orderId, refusal?.code, fault && `fault=${fault}`].filter(Boolean).join(" ");
  return `api ${method} ${target} ${facts} -> ${answer?.status ?? "no answer"} ${answer?.ending}`;
}
