import type { HeaderLines } from "../http/headers.ts";
import { isUndecided } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import { isSafe } from "../model/events.ts";
import { adviseOn, buildProblem, toAnswer, toProxyError } from "./answer.ts";
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

/** What is said of failures: requests of applications and callbacks differ in this. */
export interface Failures<Served> {
  /** The step in which a defect occurred, for the log. */
  readonly stageOf: (context: Served) => string;
  /**
   * Completes the event.
   * @param answered the status, if the head of an answer was sent to the caller: the connection's reset shows the failure
   */
  readonly record: (
    failure: ProxyError | CallerLeft,
    context: Served,
    answered: number | undefined,
  ) => void | Promise<void>;
  /** Whether the request took effect and may be repeated, in whole sentences. */
  readonly advise: (failure: ProxyError, context: Served) => string;
  /** Further header lines of the answer. */
  readonly headers: (failure: ProxyError, context: Served) => HeaderLines;
}

/** Runs the steps, answers even if a step fails, and reports how it ended. */
export async function serve<Served extends Context>(
  context: Served,
  parts: Pick<ServeParts, "report" | "docsUrl">,
  failures: Failures<Served>,
  steps: (context: Served) => Promise<void>,
): Promise<void> {
  const { admission, request } = context;
  try {
    await steps(context);
  } catch (error) {
    const answer = await fail(error, context, parts, failures);
    if (answer !== undefined) {
      // The rest of the request's body may come late, and is not kept.
      admission.buffer?.close();
      await request.answer(answer, context.deadlineMs);
    }
  }
  admission.end();
  parts.report(context.finish());
}

/** @returns the answer; undefined if the caller has left, or if the head of an answer was sent */
async function fail<Served extends Context>(
  error: unknown,
  context: Served,
  { report, docsUrl }: Pick<ServeParts, "report" | "docsUrl">,
  { stageOf, record, advise, headers }: Failures<Served>,
): Promise<WholeAnswer | undefined> {
  const failure = error instanceof CallerLeft ? error : toProxyError(error, stageOf(context), context.event, report);
  const answered = context.request.answeredStatus();
  await record(failure, context, answered);
  if (failure instanceof CallerLeft || answered !== undefined) return undefined;
  const answer = buildProblem(failure, advise(failure, context), context, docsUrl, headers(failure, context));
  context.setResponseBytes(answer.body.length);
  return answer;
}

/** Serves a request of an application: an operation, or one of a pass-through route. */
export function serveRequest<Request extends CallerRequest>(
  request: Request,
  target: Target,
  listener: ListenerContext,
  parts: ServeParts,
  steps: (context: RequestContext<Request>) => Promise<void>,
): Promise<void> {
  return serve(new RequestContext(request, target, listener, parts), parts, ofRequests, steps);
}

const ofRequests: Failures<RequestContext> = {
  stageOf: ({ event }) => event.stage,
  async record(failure, context, answered) {
    context.endWait();
    const hasLeft = failure instanceof CallerLeft;
    const { outcome } = hasLeft ? context.event : failure;
    const why = hasLeft ? "caller_left" : failure.code;
    await context.once?.recordEnd({ outcome, status: hasLeft ? undefined : answered, why });
    // Logs and metrics show 499, as nginx does.
    if (hasLeft) context.end(499, "countersign", outcome);
    else if (answered === undefined)
      context.end(failure.status, "countersign", outcome, failure.code, failure.causedBy);
    else context.end(answered, "service", outcome, failure.code, failure.causedBy);
  },
  advise: adviseOn,
  headers: (_, { event: { attempts } }) => (attempts > 1 ? ["Countersign-Attempts", String(attempts)] : []),
};

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
