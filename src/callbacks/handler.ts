import type { ClaimStore } from "../claims/claim.ts";
import { ProxyError } from "../model/errors.ts";
import type { CallbackFinished } from "../model/events.ts";
import { Context, openEvent, type ServeParts } from "../serving/context.ts";
import { CallerLeft, type CallerRequest, type RequestHandler, type WholeAnswer } from "../serving/messages.ts";
import { checkFraming } from "../serving/request-head.ts";
import { type Failures, serve } from "../serving/serve.ts";
import { shortIdentifier } from "../serving/site.ts";
import { parseTarget } from "../serving/target.ts";
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
  /** The origin of the application's URL. */
  readonly server: string;
  /** The path of the application's URL, `/` at the least. */
  readonly path: string;
}

interface CallbackHandlerParts extends Omit<ServeParts, "tracer"> {
  readonly deliver: Deliver;
  readonly claims: ClaimStore;
}

/** One callback that is being served. Its steps fill in its event, which is reported when the callback ends. */
class CallbackContext extends Context {
  readonly listener: CallbackListener;
  readonly event: { -readonly [Name in keyof CallbackFinished]: CallbackFinished[Name] };

  constructor(request: CallerRequest, listener: CallbackListener, parts: CallbackHandlerParts) {
    super(request, parseTarget(request.target), parts);
    this.listener = listener;
    this.event = openEvent("callback_finished", parts.newRequestId(), request, this.target, listener);
  }

  setResponseBytes(bytes: number): void {
    this.event.responseBytes = bytes;
  }

  finish(): CallbackFinished {
    this.event.durationMs = this.elapsedMs;
    this.event.callerLeft = this.request.isClosed();
    return this.event;
  }
}

/** START HERE: one callback, from its head to the application's answer. Each line is a step, and any of them may throw. */
async function receive(context: CallbackContext, parts: CallbackHandlerParts): Promise<void> {
  const { clock, claims } = parts;
  const { request, listener, event, admission } = context;
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
    return reply(repetitionReply(claimed, event.requestId), context);
  }
  const requestId = event.callerRequestId ?? event.requestId;
  const headers = deliveryHeaders(request.headers, callback.key.identifier, requestId);
  const target = `${listener.path}${query === undefined ? "" : `?${query}`}`;
  await reply(await pass({ ...bytes, target, headers }, claimed, context, parts), context);
}

async function reply(answer: WholeAnswer, { request, event, deadlineMs }: CallbackContext): Promise<void> {
  event.status = answer.status;
  event.outcome = "answered";
  event.responseBytes = answer.body.length;
  try {
    await request.answer(answer, deadlineMs);
  } catch (error) {
    if (!(error instanceof ProxyError) || error.code !== "upstream_bad_response") throw error;
    const what = "The head of the application's answer cannot be passed on.";
    throw new ProxyError("application_failed", what, { causedBy: "head" });
  }
}

/** Hands the callback to the application, which accepts it with a 2xx. Otherwise the service may send it again. */
async function pass(
  callback: ApplicationRequest,
  delivery: Delivery,
  { event, deadlineMs, listener: { timeoutMs, server } }: CallbackContext,
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
    const answer = await applicationReply(response, event.requestId);
    event.result = isTaken ? "delivered" : "declined";
    if (!isTaken) event.server = server;
    return answer;
  } finally {
    event.applicationMs = clock.nowMs() - startedMs;
    if (!isTaken) await delivery.release();
    if (!delivery.isGuarded) event.isGuarded = false;
  }
}

/** Serves one listener for callbacks. */
export function createCallbackHandler(parts: CallbackHandlerParts, listener: CallbackListener): RequestHandler {
  const answer = (request: CallerRequest, steps: (context: CallbackContext) => Promise<void>) =>
    serve(new CallbackContext(request, listener, parts), parts, ofCallbacks, steps);
  return {
    handle: (request) => answer(request, (context) => receive(context, parts)),
    refuse: (request, error) => answer(request, () => Promise.reject(error)),
  };
}

const ofCallbacks: Failures<CallbackContext> = {
  stageOf: () => "callback",
  record(failure, { event, listener }, answered) {
    // If the answer had begun, the service did not read the rest.
    if (failure instanceof CallerLeft || answered !== undefined) return;
    event.cause = failure.causedBy;
    event.code = failure.code;
    if (failure.code.startsWith("application_")) event.server = listener.server;
    event.result = failure instanceof NotGenuine ? failure.reason : failure.code;
    if (failure instanceof NotGenuine) {
      event.site = failure.site?.identifier;
      if (shortIdentifier.test(failure.unknownSite ?? "")) event.unknownSite = failure.unknownSite;
    }
    event.status = failure.status;
    event.outcome = failure.outcome;
  },
  /** Whether the callback reached the application, and so whether it may be repeated. */
  advise: ({ outcome }) =>
    outcome === "not_sent"
      ? "Nothing reached the application."
      : "The application may have taken the callback; send it again.",
  // RFC 9110 section 15.5.2: a 401 names a scheme.
  headers: ({ status }) => (status === 401 ? ["WWW-Authenticate", 'HMAC realm="callbacks"'] : []),
};
