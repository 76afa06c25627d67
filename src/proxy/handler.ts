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
  readonly concurrency: ConcurrencyLimit;
  /** One for all. */
  readonly memories: RequestMemories;
}

/** What a listener calls. Neither ever rejects: whatever happens is answered, counted and logged. */
export interface RequestHandler {
  /** Serves one request. */
  handle(request: ClientRequest): Promise<void>;
  /** Answers a request that the listener itself had to refuse. */
  refuse(client: ClientConnection, error: ProxyError): Promise<void>;
}

/** START READING HERE. The journey of one request: each line is a step, and any of them may end it. */
async function process(
  request: ClientRequest,
  listener: ListenerContext,
  context: RequestContext,
  memory: RequestMemory,
  parts: RequestHandlerParts,
): Promise<UpstreamResponse> {
  const { environment } = listener;
  context.setStage("check_head");
  checkAuthority(request.target, listener);
  const host = checkHead(request, listener);
  context.operation = resolveTarget(request.target, host, listener);
  checkOperation(context.operation, environment);
  const options = readRequestOptions(request.headers, parts.requestTimeoutMs);
  context.limitDeadline(options.timeoutMs);
  const body = await context.wait("read_body", () => request.readBody(context.deadlineMs, memory.body));
  acquirePermit(context, parts);
  memory.holdBody(body);
  context.details.requestBytes = body.length;
  context.setStage("read_parameters");
  const parameters = readParameters(body);
  memory.holdParameters(body.length, parameters.size);
  context.setStage("choose_site");
  const choice = chooseSite(environment, options, parameters.get("site_identifier")?.text);
  context.setRoute(choice);
  context.setStage("enrich");
  const headers = headersUpstream(request.headers, environment, context.requestId);
  const route = { environment, operation: context.operation, ...choice };
  const prepared = { route, headers, parameters: enrich(parameters, choice.site, choice.identifier) };
  checkCharacters(prepared, parts.report);
  return forward(prepared, request, context, parts);
}

/** Opens the way through Countersign for one listener. */
export function createRequestHandler(parts: RequestHandlerParts, listener: ListenerContext): RequestHandler {
  return {
    handle(request) {
      return serve(request, listener, parts, async (context) => {
        context.setStage("check_caller");
        context.callerName = checkCaller(request.headers, listener);
        context.details.caller = context.callerName ?? context.details.caller;
        admit(context, listener, parts);
        context.memory = parts.memories.open(request.peer);
        return process(request, listener, context, context.memory, parts);
      });
    },
    refuse(client, error) {
      return serve(client, listener, parts, () => Promise.reject(error));
    },
  };
}

/** Runs a journey, gives the caller an answer whatever happens, and reports how it ended. */
async function serve(
  client: ClientConnection,
  listener: ListenerContext,
  parts: RequestHandlerParts,
  steps: (context: RequestContext) => Promise<UpstreamResponse>,
): Promise<void> {
  const context = new RequestContext(parts.newRequestId(), parts.clock, parts.requestTimeoutMs);
  context.reference = peekReference(client.headers);
  context.traceId = peekTraceId(client.headers);
  Object.assign(context.details, detailsOnArrival(client, listener));
  const ending = await steps(context)
    .then((response) => deliver(response, client, context, listener.environment))
    .catch((error) => fail(error, client, context, parts));
  leave(context, parts);
  parts.report(describeAccess(ending, context, listener, client));
}

function admit(context: RequestContext, listener: ListenerContext, parts: RequestHandlerParts): void {
  context.setStage("admit");
  parts.concurrency.begin();
  context.admitted = true;
  parts.report({ kind: "request_accepted", environment: listener.environment.name, requestId: context.requestId });
}

/** A place is for requests that can go on: slow bodies wait outside. */
function acquirePermit(context: RequestContext, { concurrency }: RequestHandlerParts): void {
  context.setStage("admit");
  concurrency.acquire();
  context.hasPermit = true;
}

function leave(context: RequestContext, { concurrency }: RequestHandlerParts): void {
  context.memory?.close();
  if (context.hasPermit) concurrency.release();
  if (context.admitted) concurrency.end();
}

async function deliver(
  response: UpstreamResponse,
  client: ClientConnection,
  context: RequestContext,
  { undecided }: Environment,
): Promise<Ending> {
  const outcome = undecided.has(response.status) ? "unknown" : "answered";
  await context.wait("stream_answer", () =>
    client.reply(toClientResponse(response, outcome, context), context.deadlineMs),
  );
  return { status: response.status, by: "service", outcome, code: undefined };
}

/** Answers a failure, unless the head of the service's answer is already out: then the cut connection is the answer. */
async function fail(
  error: unknown,
  client: ClientConnection,
  context: RequestContext,
  parts: RequestHandlerParts,
): Promise<Ending> {
  if (error instanceof ClientClosedRequest) {
    return { status: clientClosedRequestStatus, by: "countersign", outcome: context.outcome, code: undefined };
  }
  if (!(error instanceof ProxyError)) {
    parts.report({ kind: "defect", where: context.stage, requestId: context.requestId, error: describeDefect(error) });
  }
  const failure = toProxyError(error, context);
  const { code, outcome, status } = failure;
  context.details.cause = failure.causedBy;
  const repliedStatus = client.repliedStatus();
  if (repliedStatus !== undefined) return { status: repliedStatus, by: "service", outcome, code };
  // The rest of its body may take a while to come, and none of it is kept.
  context.memory?.close();
  await client.reply(failureReply(failure, context), context.deadlineMs);
  return { status, by: "countersign", outcome, code };
}
