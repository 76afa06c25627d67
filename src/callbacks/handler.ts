import type { ClaimStore } from "../claims/claim.ts";
import { readTraceParent } from "../http/trace-context.ts";
import { ProxyError } from "../model/errors.ts";
import type { CallbackFinished } from "../model/events.ts";
import { buildProblem, toProxyError } from "../serving/answer.ts";
import { Admission } from "../serving/concurrency-limit.ts";
import type { ServeParts } from "../serving/context.ts";

import type { CallerRequest, RequestHandler, WholeAnswer } from "../serving/messages.ts";
import { checkFraming } from "../serving/request-head.ts";
import { peekRequestId } from "../serving/request-options.ts";
import { parseTarget, targetInLog } from "../serving/target.ts";
import {
  type ApplicationRequest,
  applicationReply,
  type CallbackMethod,
  type Deliver,
  deliveryHeaders,
  repetitionReply,
} from "./application.ts";
import { formOf, mostNames, queryOf, readCallback } from "./parameters.ts";
import { claimDelivery, type Delivery, type ReplayRules } from "./replay-guard.ts";
import { checkAge, NotGenuine, type VerifyRules, verifyCallback } from "./verify.ts";

export interface CallbackListener extends VerifyRules, ReplayRules {
  /** The configured address, for the log. */
  readonly listener: string;
  /** The path of the application's URL, `/` at the least. */
  readonly path: string;
}

interface CallbackHandlerParts extends Omit<ServeParts, "tracer"> {
  readonly deliver: Deliver;
  readonly claims: ClaimStore;
}

/** One callback that is being served. Its steps fill in its event, which is reported when the callback ends. */
interface CallbackContext {
  readonly event: { -readonly [Name in keyof CallbackFinished]: CallbackFinished[Name] };
  /** For the whole callback, by `timeouts.request`; on the monotonic clock. */
  readonly deadlineMs: number;
  readonly admission: Admission;
  readonly elapsedMs: number;
}

/** START HERE: one callback, from its head to the application's answer. Each line is a step, and any of them may throw. */
async function receive(
  request: CallerRequest,
  listener: CallbackListener,
  context: CallbackContext,
  parts: CallbackHandlerParts,
): Promise<WholeAnswer> {
  const { clock, claims } = parts;
  const { event, admission } = context;
  const buffer = admission.begin(request);
  const form = formOf(request);
  checkFraming(request.headers);
  const query = queryOf(request.target);
  event.form = form;
  const body = await request.readBody(context.deadlineMs, buffer);
  event.requestBytes = body.length;
  admission.acquirePermit();
  buffer.chargeBody(body.length, Math.min(mostNames, body.length));
  const parameters = readCallback(form, query, body);
  const callback = verifyCallback(parameters, listener, clock.wallMs());
  event.site = callback.site.identifier;
  event.key = callback.key.identifier;
  checkAge(callback, listener.rememberMs, clock.wallMs());
  const method: CallbackMethod = form === "query" ? "GET" : "POST";
  const bytes = { method, query, body };
  const claimed = await claimDelivery(callback, bytes, event.requestId, clock.wallMs(), listener, claims);
  if (typeof claimed === "number") {
    event.result = "repeated";
    return repetitionReply(claimed, event.requestId);
  }
  const requestId = event.callerRequestId ?? event.requestId;
  const headers = deliveryHeaders(request.headers, callback.key.identifier, requestId);
  const target = `${listener.path}${query === undefined ? "" : `?${query}`}`;
  return pass({ ...bytes, target, headers }, claimed, listener, context, parts);
}

/** Hands the callback to the application, which accepts it with a 2xx. Otherwise the service may send it again. */
async function pass(
  callback: ApplicationRequest,
  delivery: Delivery,
  { timeoutMs }: CallbackListener,
  { event, deadlineMs }: CallbackContext,
  { clock, deliver }: CallbackHandlerParts,
): Promise<WholeAnswer> {
  const startedMs = clock.nowMs();
  let isTaken = false;
  // The outcome if a defect stops the rest.
  event.outcome = "unknown";
  try {
    const response = await deliver(callback, Math.min(startedMs + timeoutMs, deadlineMs));
    isTaken = response.status >= 200 && response.status <= 299;
    // Before its body is read: even if that fails, the application must not get the callback again.
    if (isTaken) await delivery.confirm(response.status);
    const reply = await applicationReply(response, event.requestId);
    event.result = isTaken ? "delivered" : "declined";
    return reply;
  } finally {
    event.applicationMs = clock.nowMs() - startedMs;
    if (!isTaken) await delivery.release();
    if (!delivery.isGuarded) event.isGuarded = false;
  }
}

/** Serves one listener for callbacks. */
export function createCallbackHandler(parts: CallbackHandlerParts, listener: CallbackListener): RequestHandler {
  return {
    handle: (request) => serve(request, listener, parts, (context) => receive(request, listener, context, parts)),
    refuse: (request, error) => serve(request, listener, parts, () => Promise.reject(error)),
  };
}

/** Runs the steps, answers even if a step fails, and reports how the callback ended. */
async function serve(
  request: CallerRequest,
  listener: CallbackListener,
  parts: CallbackHandlerParts,
  steps: (context: CallbackContext) => Promise<WholeAnswer>,
): Promise<void> {
  const { clock, report, concurrency, buffers } = parts;
  const startedMs = clock.nowMs();
  const context: CallbackContext = {
    event: openEvent(parts.newRequestId(), request, listener),
    deadlineMs: startedMs + parts.requestMs,
    admission: new Admission(concurrency, buffers),
    get elapsedMs() {
      return clock.nowMs() - startedMs;
    },
  };
  const { event, admission } = context;
  try {
    const response = await steps(context);
    event.status = response.status;
    event.outcome = "answered";
    event.responseBytes = response.body.length;
    await request.answer(response, context.deadlineMs);
  } catch (error) {
    await fail(error, request, context, parts);
  }
  admission.end();
  event.durationMs = context.elapsedMs;
  event.callerLeft = request.isClosed();
  report(event);
}

/** The event of a callback before the callback is checked. */
function openEvent(
  requestId: string,
  { method, target, headers, peer }: CallerRequest,
  { environment, listener }: CallbackListener,
): CallbackContext["event"] {
  return {
    kind: "callback_finished",
    environment: environment.name,
    requestId,
    callerRequestId: peekRequestId(headers),
    traceId: readTraceParent(headers)?.traceId,
    method: method === "" ? undefined : method,
    target: targetInLog(method, parseTarget(target)),
    listener,
    caller: peer?.subject,
    callerAddress: peer?.address,
    result: "internal",
    status: 0,
    outcome: "not_sent",
    durationMs: 0,
    callerLeft: false,
  };
}

async function fail(
  error: unknown,
  request: CallerRequest,
  context: CallbackContext,
  { report, docsUrl }: CallbackHandlerParts,
): Promise<void> {
  const { event } = context;
  const found = toProxyError(error, "callback", event, report);
  // The listener could not write the head of the application's answer.
  const failure = found.code === "upstream_bad_response" ? unwritable() : found;
  // The answer has begun, but the service did not read the rest.
  if (request.answeredStatus() !== undefined) return;
  event.cause = failure.causedBy;
  event.code = failure.code;
  event.result = failure instanceof NotGenuine ? failure.reason : failure.code;
  if (failure instanceof NotGenuine) event.site = failure.site?.identifier;
  event.status = failure.status;
  event.outcome = failure.outcome;
  context.admission.buffer?.close();
  // RFC 9110 section 15.5.2: a 401 names a scheme.
  const challenge = failure.status === 401 ? ["WWW-Authenticate", 'HMAC realm="callbacks"'] : [];
  const answer = buildProblem(failure, adviseOn(failure), context, docsUrl, challenge);
  event.responseBytes = answer.body.length;
  await request.answer(answer, context.deadlineMs);
}

function unwritable(): ProxyError {
  const what = "The head of the application's answer cannot be passed on.";
  return new ProxyError("application_failed", what, { causedBy: "head" });
}

/** Whether the callback reached the application, and so whether it may be repeated. */
function adviseOn({ outcome }: ProxyError): string {
  if (outcome === "not_sent") return "Nothing reached the application.";
  return "The application may have taken the callback; send it again.";
}
