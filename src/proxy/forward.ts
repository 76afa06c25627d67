import { parseHttpDate } from "../http/http-date.ts";
import type { Clock } from "../model/clock.ts";
import { ProxyError } from "../model/errors.ts";
import type { Report, RetryResult } from "../model/events.ts";
import type { Token } from "../oauth/token.ts";
import type { TokenSource } from "../oauth/token-source.ts";
import { type AuthMaterial, authenticate } from "./authenticate.ts";
import { type BufferedResponse, bufferResponse } from "./buffered-response.ts";
import { ClientClosedRequest } from "./client-closed-request.ts";
import type { RequestContext } from "./context.ts";
import { pickHeaders } from "./details.ts";
import { valuesOf } from "./headers.ts";
import type { ClientRequest, PreparedRequest, Send, UpstreamResponse } from "./messages.ts";
import { keyOf } from "./site.ts";

export interface ForwardParts {
  readonly clock: Clock;
  readonly report: Report;
  readonly send: Send;
  /** The tokens of the credential sets configured at a site. */
  readonly tokensOf: (environment: string, owner: string) => TokenSource;
  /** `log.upstreamHeaders`, in lower case. */
  readonly upstreamHeaders: readonly string[];
}

/** One request being forwarded. */
interface Forwarding {
  readonly prepared: PreparedRequest;
  readonly request: Pick<ClientRequest, "isClosed">;
  readonly context: RequestContext;
  readonly parts: ForwardParts;
}

/** A retry waits this long for the rest of the 401 before it; its status is known, and no more of it is needed. */
const longestSettleMs = 1_000;

/**
 * Sends the request once; with OAuth a second time after a 401, if a newer token is to be had (spec 5.4). A 401 with
 * HMAC and every other answer pass.
 * @throws ProxyError of the token source and of Send; CallerLeft
 */
export async function forward(
  prepared: PreparedRequest,
  request: Pick<ClientRequest, "isClosed">,
  context: RequestContext,
  parts: ForwardParts,
): Promise<UpstreamResponse> {
  const forwarding = { prepared, request, context, parts };
  const { route } = prepared;
  const { credentials } = route.site;
  if (route.auth === "hmac") return attempt(forwarding, { method: "hmac", key: keyOf(route) });
  if (credentials === undefined) throw new Error("a site with oauth has credentials");
  const source = parts.tokensOf(route.environment.name, credentials.owner);
  const token = await context.wait("await_token", () => source.get(context.deadlineMs));
  const first = await attempt(forwarding, { method: "oauth", token });
  if (first.status !== 401) {
    if (showsAcceptance(first)) source.accepted(token, route.site.identifier);
    return first;
  }
  return retryOnce(forwarding, source, token, bufferResponse(first, parts.clock));
}

async function retryOnce(
  forwarding: Forwarding,
  source: TokenSource,
  refused: Token,
  first: BufferedResponse,
): Promise<UpstreamResponse> {
  const { prepared, request, context } = forwarding;
  const site = prepared.route.site.identifier;
  const token = await context.wait("await_token", () => source.replace(refused, site, context.deadlineMs));
  if (token === undefined || request.isClosed()) {
    reportRetry(forwarding, "not_possible");
    return first.response;
  }
  const leftMs = context.deadlineMs - forwarding.parts.clock.nowMs();
  await context.wait("send", () => first.settle(Math.min(longestSettleMs, leftMs / 2)));
  try {
    const second = await attempt(forwarding, { method: "oauth", token });
    first.discard();
    if (second.status === 401) source.refusedAgain(token, site);
    else if (showsAcceptance(second)) source.cured(token, site);
    reportRetry(forwarding, second.status === 401 ? "refused" : "cured");
    return second;
  } catch (error) {
    reportRetry(forwarding, "failed");
    if (!(error instanceof ProxyError) || error.outcome !== "not_sent") {
      first.discard();
      throw error;
    }
    context.attempts = 1;
    context.outcome = "answered";
    return first.response;
  }
}

/** A 5xx may come from something in front of the service that looks at no token. */
function showsAcceptance({ status }: UpstreamResponse): boolean {
  return status < 500;
}

/** One attempt, with one reconnect when not a byte of it was written. */
async function attempt(forwarding: Forwarding, material: AuthMaterial): Promise<UpstreamResponse> {
  const { request, context } = forwarding;
  if (request.isClosed()) throw new ClientClosedRequest();
  context.attempts += 1;
  if (material.method === "oauth") context.details.credential = material.token.credential;
  else context.details.key = material.key.identifier;
  const response = await context.wait("send", async () => {
    try {
      return await send(forwarding, material);
    } catch (error) {
      if (!(error instanceof ProxyError) || error.code !== "upstream_unreachable") throw error;
      if (request.isClosed()) throw new ClientClosedRequest();
      return await send(forwarding, material);
    }
  });
  takeNote(forwarding, material, response);
  return response;
}

async function send({ prepared, context, parts }: Forwarding, material: AuthMaterial): Promise<UpstreamResponse> {
  const upstreamRequest = authenticate(prepared, material, () => Math.floor(parts.clock.wallMs() / 1_000));
  const onConnected = context.connecting();
  context.outcome = "unknown";
  try {
    const response = await parts.send(upstreamRequest, context.deadlineMs, onConnected);
    context.outcome = "answered";
    return response;
  } catch (error) {
    onConnected();
    if (error instanceof ProxyError) context.outcome = error.outcome;
    throw error;
  }
}

function takeNote({ prepared, context, parts }: Forwarding, material: AuthMaterial, response: UpstreamResponse): void {
  const { environment, site, auth } = prepared.route;
  const dateMs = parseHttpDate(valuesOf(response.headers, "date")[0]);
  if (dateMs !== undefined) {
    const skewSeconds = (parts.clock.wallMs() - dateMs) / 1_000;
    parts.report({ kind: "clock_skew_measured", environment: environment.name, skewSeconds });
  }
  context.details.upstreamHeaders = pickHeaders(response.headers, parts.upstreamHeaders);
  if (response.status !== 401) return;
  parts.report({
    kind: "upstream_unauthorized",
    environment: environment.name,
    site: site.identifier,
    auth,
    attempt: context.attempts === 1 ? 1 : 2,
    credential: material.method === "oauth" ? material.token.credential : undefined,
    requestId: context.requestId,
    reference: context.reference,
    upstreamHeaders: context.details.upstreamHeaders ?? {},
  });
}

function reportRetry({ prepared, context, parts }: Forwarding, result: RetryResult): void {
  const { environment, site } = prepared.route;
  const { requestId } = context;
  parts.report({ kind: "retry_finished", environment: environment.name, site: site.identifier, result, requestId });
}
