import { parseHttpDate } from "../http/http-date.ts";
import type { Clock } from "../model/clock.ts";
import { ProxyError } from "../model/errors.ts";
import type { Report, RetryResult } from "../model/events.ts";
import type { Token, TokenSource } from "../oauth/token.ts";
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
  readonly enriched: PreparedRequest;
  readonly inbound: Pick<ClientRequest, "callerLeft">;
  readonly trip: RequestContext;
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
  enriched: PreparedRequest,
  inbound: Pick<ClientRequest, "callerLeft">,
  trip: RequestContext,
  parts: ForwardParts,
): Promise<UpstreamResponse> {
  const forwarding = { enriched, inbound, trip, parts };
  const { route } = enriched;
  const { credentials } = route.site;
  if (route.auth === "hmac") return attempt(forwarding, { method: "hmac", key: keyOf(route) });
  if (credentials === undefined) throw new Error("a site with oauth has credentials");
  const source = parts.tokensOf(route.environment.name, credentials.owner);
  const token = await trip.wait("await_token", () => source.get(trip.deadlineMs));
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
  const { enriched, inbound, trip } = forwarding;
  const site = enriched.route.site.identifier;
  const token = await trip.wait("await_token", () => source.replace(refused, site, trip.deadlineMs));
  if (token === undefined || inbound.callerLeft()) {
    reportRetry(forwarding, "not_possible");
    return first.answer;
  }
  const leftMs = trip.deadlineMs - forwarding.parts.clock.nowMs();
  await trip.wait("send", () => first.settle(Math.min(longestSettleMs, leftMs / 2)));
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
    trip.attempts = 1;
    trip.outcome = "answered";
    return first.answer;
  }
}

/** A 5xx may come from something in front of the service that looks at no token. */
function showsAcceptance({ status }: UpstreamResponse): boolean {
  return status < 500;
}

/** One attempt, with one reconnect when not a byte of it was written. */
async function attempt(forwarding: Forwarding, proof: AuthMaterial): Promise<UpstreamResponse> {
  const { inbound, trip } = forwarding;
  if (inbound.callerLeft()) throw new ClientClosedRequest();
  trip.attempts += 1;
  if (proof.method === "oauth") trip.details.credential = proof.token.credential;
  else trip.details.key = proof.key.identifier;
  const answer = await trip.wait("send", async () => {
    try {
      return await send(forwarding, proof);
    } catch (error) {
      if (!(error instanceof ProxyError) || error.code !== "upstream_unreachable") throw error;
      if (inbound.callerLeft()) throw new ClientClosedRequest();
      return await send(forwarding, proof);
    }
  });
  takeNote(forwarding, proof, answer);
  return answer;
}

async function send({ enriched, trip, parts }: Forwarding, proof: AuthMaterial): Promise<UpstreamResponse> {
  const outgoing = authenticate(enriched, proof, () => Math.floor(parts.clock.wallMs() / 1_000));
  const onConnected = trip.connecting();
  trip.outcome = "unknown";
  try {
    const answer = await parts.send(outgoing, trip.deadlineMs, onConnected);
    trip.outcome = "answered";
    return answer;
  } catch (error) {
    onConnected();
    if (error instanceof ProxyError) trip.outcome = error.outcome;
    throw error;
  }
}

function takeNote({ enriched, trip, parts }: Forwarding, proof: AuthMaterial, answer: UpstreamResponse): void {
  const { environment, site, auth } = enriched.route;
  const dateMs = parseHttpDate(valuesOf(answer.headers, "date")[0]);
  if (dateMs !== undefined) {
    const skewSeconds = (parts.clock.wallMs() - dateMs) / 1_000;
    parts.report({ kind: "clock_skew_measured", environment: environment.name, skewSeconds });
  }
  trip.details.upstreamHeaders = pickHeaders(answer.headers, parts.upstreamHeaders);
  if (answer.status !== 401) return;
  parts.report({
    kind: "upstream_unauthorized",
    environment: environment.name,
    site: site.identifier,
    auth,
    attempt: trip.attempts === 1 ? 1 : 2,
    credential: proof.method === "oauth" ? proof.token.credential : undefined,
    requestId: trip.requestId,
    reference: trip.reference,
    upstreamHeaders: trip.details.upstreamHeaders ?? {},
  });
}

function reportRetry({ enriched, trip, parts }: Forwarding, result: RetryResult): void {
  const { environment, site } = enriched.route;
  const { requestId } = trip;
  parts.report({ kind: "retry_finished", environment: environment.name, site: site.identifier, result, requestId });
}
