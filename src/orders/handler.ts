import { checkForSecrets, mostParameters, readParameters } from "../parameters/parameters.ts";
import type { AcquireParts } from "../serving/authentication.ts";
import { checkCallerOperation, checkCallerSite } from "../serving/caller-auth.ts";
import type { RequestContext, ServeParts } from "../serving/context.ts";
import { type ForwardParts, forward, type Sending } from "../serving/forward.ts";
import { checkGuarantees } from "../serving/guarantees.ts";
import type { AuthMaterial, ListenerContext, RequestHandler, Send, UpstreamResponse } from "../serving/messages.ts";
import { checkHead } from "../serving/request-head.ts";
import { readRequestOptions } from "../serving/request-options.ts";
import { admit, deliver, serveRequest } from "../serving/serve.ts";
import { chooseSite } from "../serving/site.ts";
import { checkAuthority, parseTarget } from "../serving/target.ts";
import { authenticate, checkCallerSignature } from "./authenticate.ts";
import { type PreparedRequest, prepare } from "./enrich.ts";
import { OnceKey, type OnceRules } from "./once.ts";
import { checkOperation, resolveTarget } from "./operation.ts";

export interface RequestHandlerParts extends ForwardParts, ServeParts, AcquireParts {
  readonly send: Send;
  readonly once: OnceRules;
}

/** START HERE: one request, from its head to its answer. Each line is a step, and any of them may throw. */
async function proxy(context: RequestContext, parts: RequestHandlerParts): Promise<void> {
  const { request, target, listener } = context;
  const { clock } = parts;
  const { environment } = listener;
  const { caller, buffer } = admit(context);
  context.setStage("check_head");
  checkAuthority(target, listener);
  const host = checkHead(request, listener);
  const operation = resolveTarget(target, host, listener);
  context.setOperation(operation, environment.operations);
  checkOperation(operation, environment);
  checkCallerOperation(caller, operation);
  const options = readRequestOptions(request.headers, parts.requestMs, parts.once.header);
  checkGuarantees(
    request.headers,
    (name) => environment.forwardHeaders.includes(name) || parts.once.header.toLowerCase() === name,
  );
  context.limitDeadline(options.timeoutMs);
  context.beginWait("read_body");
  const body = await request.readBody(context.deadlineMs, buffer);
  context.setStage("admit");
  context.admission.acquirePermit();
  buffer.chargeBody(body.length, mostParameters(body));
  context.setStage("read_parameters");
  context.setRequestBytes(body.length);
  const parameters = readParameters(body);
  buffer.chargeParameters(body.length, parameters.size);
  checkForSecrets(parameters, environment);
  context.setStage("choose_site");
  const inBody = parameters.get("site_identifier")?.value;
  const choice = chooseSite(environment, options, inBody, caller, listener.environments);
  const { site, scheme, key } = choice;
  context.setSite(site, scheme.name);
  checkCallerSite(caller, site);
  if (site.checksCallerSignature) context.setCallerSignature(checkCallerSignature(parameters, site));
  context.setStage("enrich");
  const route = { environment, operation, site, key };
  const prepared = prepare(route, parameters, request.headers, context.event.requestId);
  scheme.check(prepared, parts.report);
  const once =
    options.once === undefined ? undefined : new OnceKey(options.once, route, parameters, parts.once, context, clock);
  context.once = once;
  const material = await scheme.acquire(prepared, context, parts);
  context.setMaterial(material);
  if (once !== undefined) context.beginWait("claim_once");
  const kept = once && (await once.claim(context));
  await deliver(kept ?? (await send(prepared, material, context, parts)), context);
}

function send(
  prepared: PreparedRequest,
  material: AuthMaterial,
  context: RequestContext,
  parts: RequestHandlerParts,
): Promise<UpstreamResponse> {
  const { clock } = parts;
  const sendOnce = context.trace?.traced(parts.send) ?? parts.send;
  const unixSeconds = () => clock.wallMs() / 1_000;
  const onLongHead = (bytes: number) => context.admission.buffer?.chargeAnswerHead(bytes);
  const sending: Sending<PreparedRequest> = {
    route: prepared.route,
    request: prepared,
    isRepeatable: () => true,
    send: (attempt, onConnected) =>
      sendOnce(authenticate(attempt, unixSeconds), attempt.deadlineMs, onConnected, onLongHead),
  };
  return forward(sending, material, context, parts);
}

/** Serves the requests of one listener. */
export function createRequestHandler(parts: RequestHandlerParts, listener: ListenerContext): RequestHandler {
  return {
    handle: (request) =>
      serveRequest(request, parseTarget(request.target), listener, parts, (context) => proxy(context, parts)),
    refuse: (request, error) =>
      serveRequest(request, parseTarget(request.target), listener, parts, () => Promise.reject(error)),
  };
}
