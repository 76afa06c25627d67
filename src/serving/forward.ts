import { parseHttpDate } from "../http/date.ts";
import { firstOf, type HeaderLines, valuesOf } from "../http/headers.ts";
import type { Clock } from "../model/clock.ts";
import type { SigningKey } from "../model/environment.ts";
import { ProxyError, shutDown } from "../model/errors.ts";
import type { NoRetryReason, Report } from "../model/events.ts";
import type { Secret } from "../model/secret.ts";
import type { Token, TokenSource } from "../oauth/token.ts";
import type { RequestContext } from "./context.ts";
import { CallerLeft, type Route, type UpstreamResponse } from "./messages.ts";
import { type BufferedResponse, bufferResponse } from "./read-ahead.ts";
import { keyOf } from "./site.ts";

export interface ForwardParts {
  readonly clock: Clock;
  readonly report: Report;
  /** The tokens of the credential sets configured at a site. */
  readonly tokensOf: (environment: string, owner: string) => TokenSource;
  /** `log.upstreamHeaders`, in lower case. */
  readonly upstreamHeaders: readonly string[];
  readonly slowAnswers: SlowAnswers;
}

export type AuthMaterial =
  | { readonly method: "hmac"; readonly key: SigningKey }
  | { readonly method: "oauth"; readonly token: Token };

const authorizations = new WeakMap<Secret, string>();

/**
 * The value of Authorization (RFC 6750 section 2.1). The text is kept as long as the token: every
 * request sends it, and each `reveal` of a Secret allocates a buffer outside the heap.
 */
export function authorizationOf({ secret }: Token): string {
  let authorization = authorizations.get(secret);
  if (authorization === undefined) {
    authorization = `Bearer ${secret.reveal()}`;
    authorizations.set(secret, authorization);
  }
  return authorization;
}

/** A request to be sent: in one attempt, or in two if its authentication needs a second one. */
export interface Sending {
  readonly route: Pick<Route, "environment" | "site" | "auth" | "isBridged" | "key">;
  /** Prepares one attempt. The returned function sends it, and may be called again if no byte was written. */
  readonly prepareAttempt: (material: AuthMaterial) => (onConnected: () => void) => Promise<UpstreamResponse>;
  /** Whether a second attempt can send the same request again. */
  readonly isRepeatable: () => boolean;
}

interface Forwarding {
  readonly sending: Sending;
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

export function sourceOf({ environment, site }: Sending["route"], { tokensOf }: ForwardParts): TokenSource {
  if (site.credentials === undefined) throw new Error("a site with oauth has credentials");
  return tokensOf(environment.name, site.credentials.owner);
}

/**
 * Sends a request once; with OAuth a second time after a 401, if a newer token is available in time (spec 5.4). All other
 * responses are returned unchanged, also a 401 with HMAC and a 401 to a request that cannot be repeated.
 * @throws ProxyError of the token source and of Send; CallerLeft
 */
export async function sendAuthenticated(
  sending: Sending,
  context: RequestContext,
  parts: ForwardParts,
): Promise<UpstreamResponse> {
  const forwarding = { sending, context, parts };
  const { auth, site, isBridged } = sending.route;
  if (auth === "hmac") return attempt(forwarding, { method: "hmac", key: keyOf(sending.route) });
  const source = sourceOf(sending.route, parts);
  // Leaves time to sign the request instead.
  const untilMs = isBridged ? context.deadlineMs - context.allowedMs / 2 : context.deadlineMs;
  const token = await context.awaitToken(
    () => source.get(untilMs),
    () => Promise.reject(shutDown(false)),
  );
  const sentAtMs = parts.clock.nowMs();
  const response = await attempt(forwarding, { method: "oauth", token });
  // A kept answer says nothing about this token.
  if (context.event.once === "replayed") return response;
  if (response.status === 401) return retryOnce(forwarding, source, token, bufferResponse(response, parts.clock));
  if (showsAcceptance(response)) source.accepted(token, site.identifier, sentAtMs);
  return response;
}

async function retryOnce(
  forwarding: Forwarding,
  source: TokenSource,
  refused: Token,
  first: BufferedResponse,
): Promise<UpstreamResponse> {
  const { sending, context, parts } = forwarding;
  const site = sending.route.site.identifier;
  const passFirst = (reason: NoRetryReason) => {
    context.event.retry = "not_possible";
    context.event.retryReason = reason;
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
    const second = await attempt(forwarding, { method: "oauth", token });
    first.response.discard();
    if (second.status === 401) source.refused(token, site);
    else if (showsAcceptance(second)) source.cured(token, site, sentAtMs);
    context.event.retry = second.status === 401 ? "refused" : "cured";
    return second;
  } catch (error) {
    context.event.retry = "failed";
    if (context.event.outcome !== "unknown" && (error instanceof ProxyError || error instanceof CallerLeft)) {
      // The second attempt was not sent, but the first was sent and answered.
      context.event.outcome = "answered";
      context.event.attempts = 1;
      return error instanceof CallerLeft ? passFirst("caller_left") : first.response;
    }
    first.response.discard();
    throw error;
  }
}

/**
 * The latest start of a second attempt. Without an answer by the deadline it would turn a certain 401 into `unknown`. So it
 * gets the longest of three times: a tenth of the request's time, the time of the 401, and the time of the service's slowest
 * recent answers. These may have been bad luck, so they count for at most half of the request's time.
 */
function latestRetryMs({ context, parts }: Forwarding): number {
  const { deadlineMs, allowedMs, event } = context;
  const usualMs = Math.min(parts.slowAnswers.peakMs, allowedMs / 2);
  return deadlineMs - Math.max(allowedMs / 10, event.upstreamMs ?? 0, usualMs);
}

/** A 5xx may come from a gateway in front of the service, which checks no token. */
function showsAcceptance({ status }: UpstreamResponse): boolean {
  return status < 500;
}

/** One attempt, with one reconnect if no byte was written. Sends nothing if the answer of an earlier request is kept. */
async function attempt(forwarding: Forwarding, material: AuthMaterial): Promise<UpstreamResponse> {
  const { sending, context } = forwarding;
  const { request, once, event } = context;
  if (once !== undefined) {
    context.beginWait("claim_once");
    const kept = await once.claim(context);
    if (kept !== undefined) return kept;
  }
  if (request.isClosed()) throw new CallerLeft();
  event.attempts += 1;
  if (material.method === "oauth") event.credential = material.token.credential;
  else event.key = material.key.identifier;
  context.setStage("send");
  const sendOnce = sending.prepareAttempt(material);
  for (let isReconnect = false; ; isReconnect = true) {
    context.beginWait("send");
    const endConnecting = context.connecting();
    const onConnected = () => {
      endConnecting();
      if (request.isClosed()) throw new CallerLeft();
      event.outcome = "unknown";
    };
    try {
      const response = await sendOnce(onConnected);
      context.endWait();
      event.outcome = "answered";
      recordResponse(forwarding, material, response);
      return response;
    } catch (error) {
      context.endWait();
      endConnecting();
      if (!(error instanceof ProxyError)) throw error;
      event.outcome = error.outcome;
      if (isReconnect || error.code !== "upstream_unreachable") throw error;
      if (request.isClosed()) throw new CallerLeft();
    }
  }
}

function recordResponse({ sending, context, parts }: Forwarding, material: AuthMaterial, response: UpstreamResponse) {
  const { environment, site, auth } = sending.route;
  const { attempts, requestId, reference } = context.event;
  const dateMs = parseHttpDate(firstOf(response.headers, "date"));
  if (dateMs !== undefined) {
    // A cache's answer has the Date of its making (RFC 9111 section 5.1).
    const ageSeconds = Number.parseInt(firstOf(response.headers, "age") ?? "", 10) || 0;
    const skewSeconds = (parts.clock.wallMs() - dateMs) / 1_000 - ageSeconds;
    parts.report({ kind: "clock_skew_measured", environment: environment.name, skewSeconds });
  }
  const upstreamHeaders = pickHeaders(response.headers, parts.upstreamHeaders);
  context.event.upstreamHeaders = upstreamHeaders;
  if (response.status !== 401) {
    if (attempts === 1) parts.slowAnswers.add(context.event.upstreamMs ?? 0);
    return;
  }
  parts.report({
    kind: "upstream_unauthorized",
    environment: environment.name,
    site: site.identifier,
    auth,
    attempt: attempts === 1 ? 1 : 2,
    credential: material.method === "oauth" ? material.token.credential : undefined,
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
