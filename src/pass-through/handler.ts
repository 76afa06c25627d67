import type { Duplex } from "node:stream";
import { asksForWebSocket, endToEndHeaders, firstOf, type HeaderLines, heldBytesOf } from "../http/headers.ts";
import type { Environment, PassThroughRoute } from "../model/environment.ts";
import { ProxyError, shutDown } from "../model/errors.ts";
import type { AuthScheme, TokenParts } from "../serving/authentication.ts";
import { checkCallerOperation, checkCallerSite } from "../serving/caller-auth.ts";
import type { RequestContext, ServeParts } from "../serving/context.ts";
import { type ForwardParts, forward, type Sending } from "../serving/forward.ts";
import { checkGuarantees } from "../serving/guarantees.ts";
import {
  CallerLeft,
  type ListenerContext,
  type RequestHandler,
  type Route,
  type UpstreamResponse,
} from "../serving/messages.ts";
import { checkFraming } from "../serving/request-head.ts";
import { readRequestOptions } from "../serving/request-options.ts";
import { admit, deliver, serveRequest } from "../serving/serve.ts";
import { chooseSite } from "../serving/site.ts";
import { checkAuthority, parseTarget } from "../serving/target.ts";
import type { SendStream, StreamedRequest, StreamedResponse, StreamingRequest } from "./messages.ts";
import { checkMethod, findRoute, resolvePath } from "./route.ts";

interface PassThroughParts extends ForwardParts, ServeParts, TokenParts {
  readonly sendStream: SendStream;
}

/** A request of a route, complete except for its token. */
interface Prepared extends StreamedRequest {
  readonly choice: Pick<Route, "environment" | "site" | "key"> & { readonly scheme: AuthScheme };
  readonly route: PassThroughRoute;
}

/** Headers that are set anew, or are meant for Countersign alone, such as the caller's credentials. */
const ours: ReadonlySet<string> = new Set([
  "authorization",
  "content-length",
  "cookie",
  "expect",
  "host",
  "http2-settings",
  // No program sends this header on purpose, and as a key of an object it has another meaning.
  "__proto__",
]);

/** The memory of a body: its bytes that wait here, and in the connection to the service. */
const bodyBytes = 65_536;

/** START HERE: one request of a pass-through route, up to the service's response. Any step may throw. */
function prepare(
  route: PassThroughRoute,
  context: RequestContext<StreamingRequest>,
  parts: PassThroughParts,
): Prepared {
  const { request, target, listener } = context;
  const { environment } = listener;
  const { method } = request;
  context.setOperation(route.prefix, new Set([route.prefix]));
  const { caller, buffer } = admit(context);
  context.admission.acquirePermit();
  context.setStage("check_head");
  checkAuthority(target, listener);
  const host = checkFraming(request.headers, true);
  const path = resolvePath(target, host, route, listener);
  checkMethod(method, route);
  checkCallerOperation(caller, route.prefix);
  const options = readRequestOptions(request.headers, parts.requestMs);
  if (options.once !== undefined) throw onceNotPossible(route);
  checkGuarantees(request.headers, () => true);
  context.limitDeadline(options.timeoutMs);
  context.setStage("choose_site");
  const choice = chooseSite(
    environment,
    { site: options.site ?? route.site, auth: options.auth ?? "oauth" },
    undefined,
    caller,
    listener.environments,
  );
  context.setSite(choice.site, choice.scheme.name);
  checkCallerSite(caller, choice.site);
  if (choice.scheme.signs) throw signingNotPossible(route, choice.scheme);
  const body = request.streamBody();
  const upgrades =
    body === undefined && route.upgrade === "websocket" && method === "GET" && asksForWebSocket(request.headers);
  buffer.chargeBody(body === undefined ? 0 : bodyBytes, 0);
  const headers = headersUpstream(request.headers, environment, context.event.requestId);
  return { method, path, headers, upgrades, body, choice: { environment, ...choice }, route };
}

/** The request headers that are sent: all that are meant for the service, unchanged. */
function headersUpstream(headers: HeaderLines, { via }: Environment, requestId: string): HeaderLines {
  const sent = endToEndHeaders(headers, ours);
  if (firstOf(sent, "x-request-id") === undefined) sent.push("x-request-id", requestId);
  if (via) sent.push("via", "1.1 countersign");
  return sent;
}

/** Sends the request with a token, and streams the answer to the caller. */
async function pass(
  prepared: Prepared,
  context: RequestContext<StreamingRequest>,
  parts: PassThroughParts,
): Promise<void> {
  const { request } = context;
  const { body, route } = prepared;
  const { clock, shutdown } = parts;
  const ending = new AbortController();
  const { signal } = ending;
  const headMs = context.deadlineMs - clock.nowMs();
  let isConnected = false;
  const sending: Sending<Prepared, StreamedResponse> = {
    route: prepared.choice,
    request: prepared,
    isRepeatable: () => body === undefined || body.takenBytes === 0,
    async send({ request, material, deadlineMs }, onConnected) {
      isConnected = false;
      const control = {
        ...{ deadlineMs, headMs, idleMs: route.idleMs, signal },
        onConnected() {
          isConnected = true;
          onConnected();
        },
      };
      const headers = [...request.headers, ...material.headers];
      const response = await parts.sendStream({ ...request, headers }, control);
      context.admission.buffer?.chargeAnswerHead(heldBytesOf(response.headers));
      // The time of the request's body does not count against the deadline.
      if (body?.takenBytes) context.deadlineMs = Math.max(context.deadlineMs, clock.nowMs() + headMs);
      return response;
    },
  };
  const onShutdown = () => ending.abort(shutDown(isConnected));
  shutdown?.addEventListener("abort", onShutdown);
  request.onGone(() => ending.abort(new CallerLeft()));
  try {
    const { choice } = prepared;
    const material = await choice.scheme.acquire({ route: choice, parameters: [] }, context, parts);
    const response = await forward(sending, material, context, parts);
    const streaming = { idleMs: route.idleMs, signal };
    if (response.connection === undefined) await deliver(response, context, streaming);
    else await switchProtocols(response, response.connection, context, streaming);
  } catch (error) {
    if (error instanceof CallerLeft && isConnected) context.setOutcome("unknown");
    // Ends the attempt of an answer that was not read to its end.
    ending.abort(error);
    throw error;
  } finally {
    shutdown?.removeEventListener("abort", onShutdown);
    if (body !== undefined) context.setRequestBytes(body.takenBytes);
  }
}

/** Passes bytes both ways until a side closes. A connection that was closed because it was idle counts as `answered`. */
async function switchProtocols(
  { headers }: UpstreamResponse,
  connection: Duplex,
  context: RequestContext<StreamingRequest>,
  { idleMs, signal }: { readonly idleMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const { request } = context;
  // From here on the end of one side ends the other side.
  request.onGone(() => {});
  const identified = [...endToEndHeaders(headers), "Countersign-Request-Id", context.event.requestId];
  try {
    context.beginWait("stream_answer");
    const result = await request.switchProtocol(identified, connection, idleMs);
    context.setRequestBytes(result.toService);
    context.setResponseBytes(result.toCaller);
    const { end } = result;
    const cut: unknown = signal.reason;
    if (end === "idle") context.end(101, "service", "answered", undefined, end);
    else if (end === "closed") context.end(101, "service", "answered");
    else if (cut instanceof ProxyError) context.end(101, "service", cut.outcome, cut.code, cut.causedBy);
    else context.end(101, "service", "unknown", "upstream_reset", end);
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/**
 * Serves the pass-through routes of one listener.
 * @param main serves all other requests
 */
export function createPassThroughHandler(
  parts: PassThroughParts,
  listener: ListenerContext,
  routes: readonly PassThroughRoute[],
  main: RequestHandler,
): RequestHandler<StreamingRequest> {
  return {
    handle(request) {
      const target = parseTarget(request.target);
      const route = findRoute(target, routes);
      if (route === undefined) return main.handle(request);
      return serveRequest(request, target, listener, parts, async (context) =>
        pass(prepare(route, context, parts), context, parts),
      );
    },
    refuse: main.refuse,
  };
}

function signingNotPossible({ prefix }: PassThroughRoute, { name }: AuthScheme): ProxyError {
  const what = `Below ${prefix} requests carry a token; HMAC signs parameters, and these have none.`;
  return new ProxyError("auth_not_configured", what, { causedBy: name });
}

function onceNotPossible({ prefix }: PassThroughRoute): ProxyError {
  const what = `Countersign-Once is for operations: below ${prefix} bodies pass unread, and no key can be kept.`;
  return new ProxyError("malformed_request", what, { causedBy: "Countersign-Once" });
}
