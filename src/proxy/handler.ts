import { isUndecided } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import { isSafe } from "../model/events.ts";
import { problemAnswer, toAnswer, toProxyError } from "./answer.ts";
import { checkCallerSignature, checkCharacters, type SendParts, sendPrepared } from "./authenticate.ts";
import type { RequestBuffer } from "./buffer-budget.ts";
import { authenticateCaller, checkCallerOperation, checkCallerRate, checkCallerSite } from "./caller-auth.ts";
import type { KnownCaller } from "./caller-registry.ts";
import { RequestContext, type ServeParts } from "./context.ts";
import { prepare } from "./enrich.ts";
import { checkGuarantees } from "./guarantees.ts";
import {
  type Answer,
  CallerLeft,
  type CallerRequest,
  type ListenerContext,
  type UpstreamResponse,
} from "./messages.ts";
import { OnceKey, type OnceRules } from "./once.ts";
import { checkForSecrets, mostParameters, readParameters } from "./parameters.ts";
import { readAhead } from "./read-ahead.ts";
import { checkHead } from "./request-head.ts";
import { readRequestOptions } from "./request-options.ts";
import { chooseSite } from "./site.ts";
import { checkAuthority, checkOperation, parseTarget, resolveTarget, type Target } from "./target.ts";

export interface RequestHandlerParts extends SendParts, ServeParts {
  readonly once: OnceRules;
}

/** The functions that a listener calls. They never reject: every failure is answered, counted and logged. */
export interface RequestHandler<Request = CallerRequest> {
  readonly handle: (request: Request) => Promise<void>;
  /** Answers a request that the listener itself had to refuse. An error that is no ProxyError is a defect, and reported. */
  readonly refuse: (request: Request, error: Error) => Promise<void>;
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

/** Runs the steps, answers the caller even if a step fails, and reports how the request ended. */
export async function serve<Request extends CallerRequest>(
  request: Request,
  target: Target,
  listener: ListenerContext,
  parts: ServeParts,
  steps: (context: RequestContext<Request>) => Promise<void>,
): Promise<void> {
  const context = new RequestContext(request, target, listener, parts);
  try {
    await steps(context);
  } catch (error) {
    await fail(error, context, parts);
  }
  context.admission.end();
  parts.report(context.finish());
}

/**
 * The first steps of every request: authenticates its caller, checks the caller's rate, and admits the request.
 * @throws ProxyError caller_not_authenticated, caller_not_known, caller_rate_limited, overloaded, draining
 */
export function admit(context: RequestContext): {
  readonly caller: KnownCaller | undefined;
  readonly buffer: RequestBuffer;
} {
  const { request, listener, admission } = context;
  context.setStage("check_caller");
  const caller = authenticateCaller(request, listener);
  context.setCaller(caller?.name);
  checkCallerRate(caller);
  context.setStage("admit");
  return { caller, buffer: admission.begin(request) };
}

/**
 * Passes the service's response on. It is read whole before its head is passed on, so that one that breaks off becomes a
 * failure, and its caller never takes a part for the whole. A longer one is passed on as it comes.
 * @param streaming given if the response is passed on as it comes, and the caller's time is limited for each piece of its
 * body (`idleMs`), not by the deadline
 */
export async function deliver(
  response: UpstreamResponse,
  context: RequestContext,
  streaming?: Pick<Answer, "idleMs" | "signal">,
): Promise<void> {
  const { request, listener, once } = context;
  const { buffer } = context.admission;
  const { status } = response;
  // A safe request has no effect, so any answer decides its outcome. A replayed answer decided the first request.
  const isOpen = isUndecided(status, listener.environment) && !isSafe(request) && context.event.once !== "replayed";
  const outcome = isOpen ? "unknown" : "answered";
  try {
    let answer = toAnswer(response, outcome, context, streaming);
    context.beginWait("stream_answer");
    if (streaming === undefined && !(answer.body instanceof Uint8Array)) {
      // An answer that may be kept is read whether there is room or not: it is charged when it is whole.
      const takeRoom = (bytes: number) => buffer?.takeForAnswer(bytes) !== false || once !== undefined;
      answer = { ...answer, body: await readAhead(answer.body, takeRoom) };
    }
    // Recorded before the caller has its answer.
    if (once !== undefined) await once.recordAnswer(answer, outcome, buffer);
    const delivered = request.answer(answer, context.deadlineMs);
    if (delivered !== undefined) await delivered;
  } catch (error) {
    throw explain(error, status);
  }
  context.end(status, "service", outcome, undefined);
}

/** Adds the status, which was read although the response could not be passed on. */
function explain(error: unknown, status: number): unknown {
  if (!(error instanceof ProxyError)) return error;
  const { code, message, outcome, causedBy } = error;
  return new ProxyError(code, `The service answered ${status}. ${message}`, { outcome, causedBy });
}

/** Answers a failure, unless the head of the service's response was sent to the caller: then the connection's reset shows it. */
async function fail(error: unknown, context: RequestContext, parts: ServeParts): Promise<void> {
  const { request } = context;
  context.endWait();
  const { stage, outcome } = context.event;
  // Logs and metrics show 499, as nginx does.
  if (error instanceof CallerLeft) {
    await context.once?.recordEnd({ outcome });
    return context.end(499, "countersign", outcome, undefined);
  }
  const failure = toProxyError(error, stage, context.event, parts.report);
  const status = request.answeredStatus();
  context.event.cause = failure.causedBy;
  const by = status === undefined ? "countersign" : "service";
  await context.once?.recordEnd({ outcome: failure.outcome, status });
  context.end(status ?? failure.status, by, failure.outcome, failure.code);
  if (status !== undefined) return;
  // The rest of the request's body may come late, and is not kept.
  context.admission.buffer?.close();
  const answer = problemAnswer(failure, context, parts.docsUrl);
  context.event.responseBytes = answer.body.length;
  await request.answer(answer, context.deadlineMs);
}
