import { checkForSecrets, mostParameters, readParameters } from "../parameters/parameters.ts";
import { checkCallerOperation, checkCallerSite } from "../serving/caller-auth.ts";
import type { RequestContext, ServeParts } from "../serving/context.ts";
import { checkGuarantees } from "../serving/guarantees.ts";
import type { ListenerContext, RequestHandler } from "../serving/messages.ts";
import { checkHead } from "../serving/request-head.ts";
import { readRequestOptions } from "../serving/request-options.ts";
import { admit, deliver, serve } from "../serving/serve.ts";
import { chooseSite } from "../serving/site.ts";
import { checkAuthority, parseTarget } from "../serving/target.ts";
import { checkCallerSignature, checkCharacters, type SendParts, sendPrepared } from "./authenticate.ts";
import { prepare } from "./enrich.ts";
import { OnceKey, type OnceRules } from "./once.ts";
import { checkOperation, resolveTarget } from "./operation.ts";

export interface RequestHandlerParts extends SendParts, ServeParts {
  readonly once: OnceRules;
}

/** START HERE: one request, from its head to its answer. Each line is a step, and any of them may throw. */
async function proxy(context: RequestContext, parts: RequestHandlerParts): Promise<void> {
  const { request, target, listener } = context;
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
  context.event.requestBytes = body.length;
  const parameters = readParameters(body);
  buffer.chargeParameters(body.length, parameters.size);
  checkForSecrets(parameters, environment);
  context.setStage("choose_site");
  const choice = chooseSite(environment, options, parameters.get("site_identifier")?.value, caller);
  context.setRoute(choice);
  checkCallerSite(caller, choice.site);
  const { site } = choice;
  if (site.checksCallerSignature) context.event.callerSignature = checkCallerSignature(parameters, site);
  context.setStage("enrich");
  const prepared = prepare({ environment, operation, ...choice }, parameters, request.headers, context.event.requestId);
  checkCharacters(prepared, parts.report);
  if (options.once !== undefined) {
    context.once = new OnceKey(options.once, prepared, parts.once, context, parts.clock);
  }
  const response = await sendPrepared(prepared, context, parts);
  await deliver(response, context);
}

/** Serves the requests of one listener. */
export function createRequestHandler(parts: RequestHandlerParts, listener: ListenerContext): RequestHandler {
  return {
    handle: (request) =>
      serve(request, parseTarget(request.target), listener, parts, (context) => proxy(context, parts)),
    refuse: (request, error) =>
      serve(request, parseTarget(request.target), listener, parts, () => Promise.reject(error)),
  };
}
