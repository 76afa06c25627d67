import { isUndecided } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import { type Event, isSafe, type Report } from "../model/events.ts";
import { problemAnswer, toAnswer, toProxyError } from "./answer.ts";
import type { RequestBuffer } from "./buffer-budget.ts";
import { authenticateCaller, checkCallerRate } from "./caller-auth.ts";
import type { KnownCaller } from "./caller-registry.ts";
import { type Context, RequestContext, type ServeParts } from "./context.ts";
import {
  type Answer,
  CallerLeft,
  type CallerRequest,
  type ListenerContext,
  type UpstreamResponse,
  type WholeAnswer,
} from "./messages.ts";
import { readAhead } from "./read-ahead.ts";
import type { Target } from "./target.ts";

/** Runs the steps, answers even if a step fails, and reports how it ended. */
export async function serve<Served extends Context<CallerRequest> & { finish(): Event }>(
  context: Served,
  report: Report,
  steps: (context: Served) => Promise<void>,
  fail: (error: unknown, context: Served) => Promise<WholeAnswer | undefined>,
): Promise<void> {
  const { admission, request } = context;
  try {
    await steps(context);
  } catch (error) {
    const answer = await fail(error, context);
    if (answer !== undefined) {
      // The rest of the request's body may come late, and is not kept.
      admission.buffer?.close();
      await request.answer(answer, context.deadlineMs);
    }
  }
  admission.end();
  report(context.finish());
}

/** Serves a request of an application: an operation, or one of a pass-through route. */
export function serveRequest<Request extends CallerRequest>(
  request: Request,
  target: Target,
  listener: ListenerContext,
  parts: ServeParts,
  steps: (context: RequestContext<Request>) => Promise<void>,
): Promise<void> {
  const context = new RequestContext(request, target, listener, parts);
  return serve(context, parts.report, steps, (error) => fail(error, context, parts));
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
  const isOpen = isUndecided(status, listener.environment) && !isSafe(request) && once?.result !== "replayed";
  const outcome = isOpen ? "unknown" : "answered";
  try {
    let answer = toAnswer(response, outcome, context, streaming);
    context.beginWait("stream_answer");
    if (streaming === undefined && !(answer.body instanceof Uint8Array)) {
      // An answer that may be kept is read whether there is room or not: it is charged when it is whole.
      const reserve = (bytes: number) => buffer?.takeForAnswer(bytes) !== false || once !== undefined;
      answer = { ...answer, body: await readAhead(answer.body, reserve) };
    }
    // Recorded before the caller has its answer, or the last piece of it.
    if (once !== undefined) answer = await once.recordAnswer(answer, outcome, buffer);
    const delivered = request.answer(answer, context.deadlineMs);
    if (delivered !== undefined) await delivered;
  } catch (error) {
    throw explain(error, status);
  }
  context.end(status, "service", outcome);
}

/** Adds the status, which was read although the response could not be passed on. */
function explain(error: unknown, status: number): unknown {
  if (!(error instanceof ProxyError)) return error;
  const { code, message, outcome, causedBy } = error;
  return new ProxyError(code, `The service answered ${status}. ${message}`, { outcome, causedBy });
}

/**
 * Records a failure.
 * @returns the answer; undefined if the caller has left, or if the head of the service's response was sent to the caller: then the
 * connection's reset shows the failure
 */
async function fail(error: unknown, context: RequestContext, parts: ServeParts): Promise<WholeAnswer | undefined> {
  context.endWait();
  const { stage, outcome } = context.event;
  // Logs and metrics show 499, as nginx does.
  if (error instanceof CallerLeft) {
    await context.once?.recordEnd({ outcome });
    context.end(499, "countersign", outcome);
    return undefined;
  }
  const failure = toProxyError(error, stage, context.event, parts.report);
  const status = context.request.answeredStatus();
  const by = status === undefined ? "countersign" : "service";
  await context.once?.recordEnd({ outcome: failure.outcome, status });
  context.end(status ?? failure.status, by, failure.outcome, failure.code, failure.causedBy);
  if (status !== undefined) return undefined;
  const answer = problemAnswer(failure, context, parts.docsUrl);
  context.setResponseBytes(answer.body.length);
  return answer;
}
