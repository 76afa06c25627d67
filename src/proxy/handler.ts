import { describeDefect } from "../model/defect.ts";
import type { Environment } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import { describeAccess, type Ending } from "./access-event.ts";
import { checkCharacters } from "./check-characters.ts";
import { checkCaller } from "./client-auth.ts";
import { ClientClosedRequest, clientClosedRequestStatus } from "./client-closed-request.ts";
import { toClientResponse } from "./client-response.ts";
import type { ConcurrencyLimit } from "./concurrency-limit.ts";
import { RequestContext } from "./context.ts";
import { detailsOnArrival } from "./details.ts";
import { enrich } from "./enrich.ts";
import { type ForwardParts, forward } from "./forward.ts";
import { headersUpstream } from "./headers.ts";
import type { ClientConnection, ClientRequest, ListenerContext, UpstreamResponse } from "./messages.ts";
import { readParameters } from "./parameters.ts";
import { failureReply, toProxyError } from "./problem.ts";
import { checkHead } from "./request-head.ts";
import type { RequestMemories, RequestMemory } from "./request-memory.ts";
import { peekReference, peekTraceId, readRequestOptions } from "./request-options.ts";
import { chooseSite } from "./site.ts";
import { checkAuthority, checkOperation, resolveTarget } from "./target.ts";

export interface RequestHandlerParts extends ForwardParts {
  /** A new, unguessable and unique id. */
  readonly newRequestId: () => string;
  /** `timeouts.request`. */
  readonly requestTimeoutMs: number;
  /** One for each environment. */
  readonly admission: ConcurrencyLimit;
  /** One for all. */
  readonly memories: RequestMemories;
}

/** What a listener calls. Neither ever rejects: whatever happens is answered, counted and logged. */
export interface RequestHandler {
  /** Serves one request. */
  handle(inbound: ClientRequest): Promise<void>;
  /** Answers a request that the listener itself had to refuse. */
  refuse(caller: ClientConnection, error: ProxyError): Promise<void>;
}

/** START READING HERE. The journey of one request: each line is a step, and any of them may end it. */
async function process(
  inbound: ClientRequest,
  door: ListenerContext,
  trip: RequestContext,
  memory: RequestMemory,
  parts: RequestHandlerParts,
): Promise<UpstreamResponse> {
  const { environment } = door;
  trip.setStage("check_head");
  checkAuthority(inbound.target, door);
  const host = checkHead(inbound, door);
  trip.operation = resolveTarget(inbound.target, host, door);
  checkOperation(trip.operation, environment);
  const wishes = readRequestOptions(inbound.headers, parts.requestTimeoutMs);
  trip.limitDeadline(wishes.timeoutMs);
  const body = await trip.wait("read_body", () => inbound.readBody(trip.deadlineMs, memory.body));
  takePlace(trip, parts);
  memory.holdBody(body);
  trip.details.requestBytes = body.length;
  trip.setStage("read_parameters");
  const parameters = readParameters(body);
  memory.holdParameters(body.length, parameters.size);
  trip.setStage("choose_site");
  const choice = chooseSite(environment, wishes, parameters.get("site_identifier")?.text);
  trip.setRoute(choice);
  trip.setStage("enrich");
  const headers = headersUpstream(inbound.headers, environment, trip.requestId);
  const route = { environment, operation: trip.operation, ...choice };
  const enriched = { route, headers, parameters: enrich(parameters, choice.site, choice.identifier) };
  checkCharacters(enriched, parts.report);
  return forward(enriched, inbound, trip, parts);
}

/** Opens the way through Countersign for one listener. */
export function createRequestHandler(parts: RequestHandlerParts, door: ListenerContext): RequestHandler {
  return {
    handle(inbound) {
      return serve(inbound, door, parts, async (trip) => {
        trip.setStage("check_caller");
        trip.callerName = checkCaller(inbound.headers, door);
        trip.details.caller = trip.callerName ?? trip.details.caller;
        admit(trip, door, parts);
        trip.memory = parts.memories.open(inbound.peer);
        return process(inbound, door, trip, trip.memory, parts);
      });
    },
    refuse(caller, error) {
      return serve(caller, door, parts, () => Promise.reject(error));
    },
  };
}

/** Runs a journey, gives the caller an answer whatever happens, and reports how it ended. */
async function serve(
  caller: ClientConnection,
  door: ListenerContext,
  parts: RequestHandlerParts,
  journey: (trip: RequestContext) => Promise<UpstreamResponse>,
): Promise<void> {
  const trip = new RequestContext(parts.newRequestId(), parts.clock, parts.requestTimeoutMs);
  trip.reference = peekReference(caller.headers);
  trip.traceId = peekTraceId(caller.headers);
  Object.assign(trip.details, detailsOnArrival(caller, door));
  const ending = await journey(trip)
    .then((answer) => deliver(answer, caller, trip, door.environment))
    .catch((error) => fail(error, caller, trip, parts));
  leave(trip, parts);
  parts.report(describeAccess(ending, trip, door, caller));
}

function admit(trip: RequestContext, door: ListenerContext, parts: RequestHandlerParts): void {
  trip.setStage("admit");
  parts.admission.admit();
  trip.admitted = true;
  parts.report({ kind: "request_accepted", environment: door.environment.name, requestId: trip.requestId });
}

/** A place is for requests that can go on: slow bodies wait outside. */
function takePlace(trip: RequestContext, { admission }: RequestHandlerParts): void {
  trip.setStage("admit");
  admission.takePlace();
  trip.hasPlace = true;
}

function leave(trip: RequestContext, { admission }: RequestHandlerParts): void {
  trip.memory?.close();
  if (trip.hasPlace) admission.leavePlace();
  if (trip.admitted) admission.leave();
}

async function deliver(
  answer: UpstreamResponse,
  caller: ClientConnection,
  trip: RequestContext,
  { undecided }: Environment,
): Promise<Ending> {
  const outcome = undecided.has(answer.status) ? "unknown" : "answered";
  await trip.wait("stream_answer", () => caller.reply(toClientResponse(answer, outcome, trip), trip.deadlineMs));
  return { status: answer.status, by: "service", outcome, code: undefined };
}

/** Answers a failure, unless the head of the service's answer is already out: then the cut connection is the answer. */
async function fail(
  error: unknown,
  caller: ClientConnection,
  trip: RequestContext,
  parts: RequestHandlerParts,
): Promise<Ending> {
  if (error instanceof ClientClosedRequest) {
    return { status: clientClosedRequestStatus, by: "countersign", outcome: trip.outcome, code: undefined };
  }
  if (!(error instanceof ProxyError)) {
    parts.report({ kind: "defect", where: trip.stage, requestId: trip.requestId, error: describeDefect(error) });
  }
  const failure = toProxyError(error, trip);
  const { code, outcome, status } = failure;
  trip.details.cause = failure.causedBy;
  const repliedStatus = caller.repliedStatus();
  if (repliedStatus !== undefined) return { status: repliedStatus, by: "service", outcome, code };
  // The rest of its body may take a while to come, and none of it is kept.
  trip.memory?.close();
  await caller.reply(failureReply(failure, trip), trip.deadlineMs);
  return { status, by: "countersign", outcome, code };
}
