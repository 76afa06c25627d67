import { parseHttpDate } from "../http/date.ts";
import { firstOf, type HeaderLines, valuesOf } from "../http/headers.ts";
import type { Clock } from "../model/clock.ts";
import { ProxyError } from "../model/errors.ts";
import type { NoRetryReason, Report } from "../model/events.ts";
import { carry } from "./authentication.ts";
import type { RequestContext } from "./context.ts";
import { type AuthMaterial, CallerLeft, type Route, type UpstreamResponse } from "./messages.ts";
import { type BufferedResponse, bufferResponse } from "./read-ahead.ts";

export interface ForwardParts {
  readonly clock: Clock;
  readonly report: Report;
  /** `log.upstreamHeaders`, in lower case. */
  readonly upstreamHeaders: readonly string[];
  readonly slowAnswers: SlowAnswers;
}

/** One sending of a request: what is sent, with which key or token, and until when. */
export interface Attempt<Request> {
  readonly request: Request;
  readonly material: AuthMaterial;
  /** On the monotonic clock. */
  readonly deadlineMs: number;
}

/** A request that lacks only its authentication. */
export interface Sending<Request, Response extends UpstreamResponse = UpstreamResponse> {
  readonly route: Pick<Route, "environment" | "site" | "key">;
  readonly request: Request;
  /**
   * Makes one attempt. It may be made again if no byte was written.
   * @param onConnected called when a connection is ready, before the first byte is written; if it throws, nothing is written
   */
  readonly send: (attempt: Attempt<Request>, onConnected: () => void) => Promise<Response>;
  /** Whether a second attempt can send the same request again. */
  readonly isRepeatable: () => boolean;
}

interface Forwarding<Request, Response extends UpstreamResponse> {
  readonly sending: Sending<Request, Response>;
  readonly context: RequestContext;
  readonly parts: ForwardParts;
}

/**
 * How long the slowest of a service's recent answers took: a peak, which each faster answer lowers a little. It is close to
 * the 99th percentile, and needs only one number.
 */
export class SlowAnswers {
  #peakMs = 0;

  get peakMs(): number {
    return this.#peakMs;
  }

  add(tookMs: number): void {
    this.#peakMs = Math.max(tookMs, this.#peakMs - (this.#peakMs - tookMs) / 64);
  }
}

/** A retry waits at most this long for the rest of the 401, of which only the status is needed. */
const longestFinishMs = 1_000;

/**
 * Sends a request once; with a token a second time after a 401, if a newer token is available in time (spec 5.4). All other
 * responses are returned unchanged, also a 401 with HMAC and a 401 to a request that cannot be repeated.
 * @throws ProxyError of Send; CallerLeft
 */
export async function forward<Request, Response extends UpstreamResponse>(
  sending: Sending<Request, Response>,
  material: AuthMaterial,
  context: RequestContext,
  parts: ForwardParts,
): Promise<Response> {
  const forwarding = { sending, context, parts };
  const sentAtMs = parts.clock.nowMs();
  const response = await attempt(material, forwarding);
  if (material.bearer === undefined) return response;
  if (response.status === 401) return retryOnce(material.bearer, bufferResponse(response, parts.clock), forwarding);
  const { source, token } = material.bearer;
  if (showsAcceptance(response)) source.accepted(token, sending.route.site.identifier, sentAtMs);
  return response;
}

async function retryOnce<Request, Response extends UpstreamResponse>(
  { source, token: refused }: NonNullable<AuthMaterial["bearer"]>,
  first: BufferedResponse<Response>,
  forwarding: Forwarding<Request, Response>,
): Promise<Response> {
  const { sending, context, parts } = forwarding;
  const site = sending.route.site.identifier;
  const passFirst = (reason: NoRetryReason) => {
    context.setRetry("not_possible", reason);
    return first.response;
  };
  const latestMs = latestRetryMs(forwarding);
  const token = await context.awaitToken(
    () => source.replace(refused, site, latestMs),
    () => "too_late" as const,
  );
  const spareMs = latestMs - parts.clock.nowMs();
  if (typeof token === "string") return passFirst(token);
  if (spareMs <= 0) return passFirst("too_late");
  if (context.request.isClosed()) return passFirst("caller_left");
  if (!sending.isRepeatable()) return passFirst("not_repeatable");
  context.beginWait("send");
  await first.finishReading(Math.min(longestFinishMs, spareMs));
  try {
    const sentAtMs = parts.clock.nowMs();
    const second = await attempt(carry(token, source, sending.route), forwarding);
    first.response.discard();
    if (second.status === 401) source.refused(token, site);
    else if (showsAcceptance(second)) source.cured(token, site, sentAtMs);
    context.setRetry(second.status === 401 ? "refused" : "cured");
    return second;
  } catch (error) {
    context.setRetry("failed");
    if (context.event.outcome !== "unknown" && (error instanceof ProxyError || error instanceof CallerLeft)) {
      context.forgetSecondAttempt();
      return error instanceof CallerLeft ? passFirst("caller_left") : first.response;
    }
    first.response.discard();
    throw error;
  }
}

/**
 * The latest start of a second attempt. Without an answer by the deadline it would turn a certain 401 into `unknown`. So it
 * gets the longest of three times: a fifth of the request's time, the time of the 401, and the time of the service's slowest
 * recent answers. These may have been bad luck, so they count for at most half of the request's time.
 */
function latestRetryMs({ context, parts }: Pick<Forwarding<unknown, UpstreamResponse>, "context" | "parts">): number {
  const { deadlineMs, allowedMs, event } = context;
  const usualMs = Math.min(parts.slowAnswers.peakMs, allowedMs / 2);
  return deadlineMs - Math.max(allowedMs / 5, event.upstreamMs ?? 0, usualMs);
}

/** A 5xx may come from a gateway in front of the service, which checks no token. */
function showsAcceptance({ status }: UpstreamResponse): boolean {
  return status < 500;
}

/** One attempt, with one reconnect if no byte was written. */
async function attempt<Request, Response extends UpstreamResponse>(
  material: AuthMaterial,
  forwarding: Forwarding<Request, Response>,
): Promise<Response> {
  const { sending, context } = forwarding;
  const { request } = context;
  if (request.isClosed()) throw new CallerLeft();
  context.beginAttempt(material);
  const attempt = { request: sending.request, material, deadlineMs: context.deadlineMs };
  for (let isReconnect = false; ; isReconnect = true) {
    context.beginWait("send");
    const endConnecting = context.connecting();
    const onConnected = () => {
      endConnecting();
      if (request.isClosed()) throw new CallerLeft();
      context.setOutcome("unknown");
    };
    try {
      const response = await sending.send(attempt, onConnected);
      context.endWait();
      recordResponse(response, material, forwarding);
      return response;
    } catch (error) {
      context.endWait();
      endConnecting();
      if (!(error instanceof ProxyError)) throw error;
      context.setOutcome(error.outcome);
      if (isReconnect || error.code !== "upstream_unreachable") throw error;
      if (request.isClosed()) throw new CallerLeft();
    }
  }
}

function recordResponse<Request, Response extends UpstreamResponse>(
  response: Response,
  { auth, credential }: AuthMaterial,
  { sending, context, parts }: Forwarding<Request, Response>,
): void {
  const { environment, site } = sending.route;
  const { attempts, requestId, reference } = context.event;
  const upstreamHeaders = pickHeaders(response.headers, parts.upstreamHeaders);
  context.setAnswered(response, upstreamHeaders);
  const dateMs = parseHttpDate(firstOf(response.headers, "date"));
  if (dateMs !== undefined) {
    // A cache's answer has the Date of its making (RFC 9111 section 5.1).
    const ageSeconds = Number.parseInt(firstOf(response.headers, "age") ?? "", 10) || 0;
    const skewSeconds = (parts.clock.wallMs() - dateMs) / 1_000 - ageSeconds;
    parts.report({ kind: "clock_skew_measured", environment: environment.name, skewSeconds });
  }
  if (response.status !== 401) {
    if (attempts === 1) parts.slowAnswers.add(context.event.upstreamMs ?? 0);
    return;
  }
  parts.report({
    kind: "upstream_unauthorized",
    environment: environment.name,
    site: site.identifier,
    server: environment.baseUrl.origin,
    auth,
    attempt: attempts === 1 ? 1 : 2,
    credential,
    requestId,
    reference,
    upstreamHeaders: upstreamHeaders ?? {},
  });
}

/** Longer than any identifier of a service. */
const longestUpstreamHeader = 256;

/**
 * The response's headers of these names, each cut to a limit, since they are foreign text.
 * @returns undefined if the response has none of them
 */
function pickHeaders(headers: HeaderLines, names: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (names.length === 0) return undefined;
  const found: Record<string, string> = {};
  for (const name of names) {
    const value = valuesOf(headers, name).join(", ");
    const isLong = value.length > longestUpstreamHeader;
    if (value !== "") found[name] = isLong ? `${value.slice(0, longestUpstreamHeader)}…` : value;
  }
  return Object.keys(found).length === 0 ? undefined : found;
}
