import type { HeaderLines } from "../http/headers.ts";
import { formatTraceParent, readTraceParent, readTraceState, type SpanContext } from "../http/trace-context.ts";
import type { Clock } from "../model/clock.ts";
import type { Address, Environment } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import type { RequestFinished, TokenEvent } from "../model/events.ts";
import type {
  AccessEvent,
  ListenerContext,
  RequestTrace,
  Send,
  Tracer,
  UpstreamRequest,
  UpstreamResponse,
} from "../serving/messages.ts";
import type { Attributes, Span, SpanLink } from "./span-exporter.ts";

type TokenRequested = Extract<TokenEvent, { kind: "token_requested" }>;

interface TracerParts {
  readonly clock: Clock;
  /** Returns this many random bytes, as lower-case hex digits. */
  readonly randomHex: (bytes: number) => string;
  /** Gets complete spans. It never throws and never waits. */
  readonly record: (span: Span) => void;
  /** The share of the traces begun here that are recorded: 0 to 1. For a caller's trace the caller decides. */
  readonly sampleRatio: number;
  /** Which requests carry `traceparent` to the service: those whose caller sent one, every request, or none. */
  readonly propagation: "callers" | "always" | "never";
}

/** Begins the spans of requests, and records those of token requests. */
export class SpanTracer implements Tracer {
  readonly #parts: RequestTraceParts;

  constructor(parts: TracerParts) {
    this.#parts = { ...parts, newSpanId: () => newId(parts.randomHex, 8), waits: new Set() };
  }

  start(headers: HeaderLines, event: AccessEvent, listener: ListenerContext): RequestTrace {
    const parent = readTraceParent(headers);
    const context = parent === undefined ? this.#begin() : { ...parent, spanId: this.#parts.newSpanId() };
    const traceState = parent === undefined ? undefined : readTraceState(headers);
    const now = this.#timeFromNow();
    const begun: BegunSpan = { context, parentSpanId: parent?.spanId, traceState, startMs: now(), now };
    event.traceId = context.traceId;
    if (!context.isSampled) return passingTrace(begun, this.#parts.propagation);
    event.spanId = context.spanId;
    return new RecordedTrace(this.#parts, begun, event, listener);
  }

  /**
   * Records the span of a token request. Its parent is the request that has waited for it from the start; other waiting
   * requests get a link to it. A token request that nothing waits for is a trace of its own.
   * @param url of the token endpoint
   */
  tokenRequested(event: TokenRequested, url: Address): void {
    const { record, waits, newSpanId, clock } = this.#parts;
    const endMs = clock.wallMs();
    const startMs = endMs - event.durationMs;
    const waiting = [...waits].filter((wait) => isEndedBy(event, wait));
    // The two times come from two readings of the clock, each in whole milliseconds.
    const cause = waiting.find((wait) => wait.startMs <= startMs + 1);
    const own = this.#begin();
    if (waiting.length === 0 && !own.isSampled) return;
    const traceId = cause?.traceId ?? own.traceId;
    const spanId = newSpanId();
    for (const wait of waiting) if (wait !== cause) wait.links.push({ traceId, spanId });
    record({
      traceId,
      spanId,
      parentSpanId: cause?.spanId,
      name: `POST ${url.path}`,
      kind: "client",
      startMs: Math.max(startMs, cause?.startMs ?? startMs),
      endMs,
      attributes: { ...attributesOfPost(url, url.path), ...attributesOfTokenRequest(event) },
      isError: event.result !== "issued",
    });
  }

  /** The first span of a new trace. Its random id decides whether it is recorded. */
  #begin(): SpanContext {
    const { randomHex, sampleRatio, newSpanId } = this.#parts;
    const traceId = newId(randomHex, 16);
    const isSampled = Number.parseInt(traceId.slice(-13), 16) / 2 ** 52 < sampleRatio;
    return { traceId, spanId: newSpanId(), isSampled };
  }

  /** The wall clock from now on, without later jumps; in milliseconds, with fractions. */
  #timeFromNow(): () => number {
    const { clock } = this.#parts;
    const offsetMs = clock.wallMs() - clock.nowMs();
    return () => offsetMs + clock.nowMs();
  }
}

/** Whether the waiting request's site uses the credential set of this token request. */
function isEndedBy({ environment: name, credential }: TokenRequested, { environment, site }: TokenWait): boolean {
  if (environment.name !== name || site === undefined) return false;
  const sets = environment.sites.get(site)?.credentials?.sets ?? [];
  return sets.some(({ label }) => label === credential);
}

/** Ids are not all zero (W3C Trace Context, section 3.2.2). */
function newId(randomHex: (bytes: number) => string, bytes: number): string {
  const id = randomHex(bytes);
  return /^0+$/.test(id) ? newId(randomHex, bytes) : id;
}

/** A recorded request that waits for a token. */
interface TokenWait extends SpanLink {
  readonly environment: Environment;
  /** S… of its site. */
  readonly site: string | undefined;
  readonly startMs: number;
  /** Token requests, in other traces, that it waited for too. */
  readonly links: SpanLink[];
}

interface RequestTraceParts extends TracerParts {
  readonly newSpanId: () => string;
  /** Requests that wait at this moment, the longest wait first. */
  readonly waits: Set<TokenWait>;
}

/** The span of a request that has begun. */
interface BegunSpan {
  readonly context: SpanContext;
  /** The caller's span; undefined if the trace begins here. */
  readonly parentSpanId: string | undefined;
  readonly traceState: string | undefined;
  readonly startMs: number;
  /** The wall clock without its jumps since `startMs`. */
  readonly now: () => number;
}

type OpenSpan = { -readonly [Name in keyof Span]: Span[Name] };

/** A request whose spans are not recorded here: its trace is only continued towards the service. */
function passingTrace({ context, traceState }: BegunSpan, propagation: TracerParts["propagation"]): RequestTrace {
  return {
    traced: (send) => (request, deadlineMs, onConnected) => {
      const headers = propagate(request.headers, context, traceState, propagation);
      return send({ ...request, headers }, deadlineMs, onConnected);
    },
    beginTokenWait() {},
    endTokenWait() {},
    end() {},
  };
}

/** A request whose spans are recorded: its own, its wait for a token, and each attempt. */
class RecordedTrace implements RequestTrace {
  readonly #parts: RequestTraceParts;
  readonly #begun: BegunSpan;
  readonly #event: AccessEvent;
  readonly #listener: ListenerContext;
  /** Attempts of which bytes were written; their end may still change. */
  readonly #attempts: OpenSpan[] = [];
  #wait: TokenWait | undefined;

  constructor(parts: RequestTraceParts, begun: BegunSpan, event: AccessEvent, listener: ListenerContext) {
    this.#parts = parts;
    this.#begun = begun;
    this.#event = event;
    this.#listener = listener;
  }

  traced(send: Send): Send {
    const { now, context, traceState } = this.#begun;
    const { newSpanId, propagation } = this.#parts;
    return async (request, deadlineMs, onConnected, onLongHead) => {
      const own = { ...context, spanId: newSpanId() };
      const headers = propagate(request.headers, own, traceState, propagation);
      const startMs = now();
      const record = (attributes: Attributes, isError: boolean) => {
        const span = { ...this.#describeAttempt(request, own.spanId, attributes), startMs, endMs: now(), isError };
        this.#attempts.push(span);
        return span;
      };
      try {
        const response = await send({ ...request, headers }, deadlineMs, onConnected, onLongHead);
        const { status } = response;
        const isError = status >= 400;
        const type = isError ? { "error.type": String(status) } : {};
        return timed(response, record({ "http.response.status_code": status, ...type }, isError), now);
      } catch (error) {
        // An attempt that sent nothing gets no span, which would look like a request to the service.
        if (error instanceof ProxyError && error.outcome !== "not_sent") {
          record({ "error.type": error.code, "countersign.cause": error.causedBy }, true);
        }
        throw error;
      }
    };
  }

  #describeAttempt({ path }: UpstreamRequest, spanId: string, more: Attributes) {
    const { site, credential, key, operationLabel } = this.#event;
    const { baseUrl } = this.#listener.environment;
    const route = routeOf(operationLabel);
    const template = route === undefined ? undefined : `${baseUrl.path}${route}`;
    const resent = this.#attempts.length;
    return {
      ...this.#child(spanId),
      name: template === undefined ? "POST" : `POST ${template}`,
      kind: "client",
      attributes: {
        ...attributesOfPost(baseUrl, path),
        "url.template": template,
        "http.request.resend_count": resent === 0 ? undefined : resent,
        "countersign.site": site,
        "countersign.credential": credential,
        "countersign.key": key,
        ...more,
      },
    } as const;
  }

  #child(spanId: string) {
    const { context, traceState } = this.#begun;
    return { traceId: context.traceId, spanId, parentSpanId: context.spanId, traceState };
  }

  beginTokenWait(): void {
    const { waits, newSpanId } = this.#parts;
    const { context, now } = this.#begun;
    const { site } = this.#event;
    const { environment } = this.#listener;
    const { traceId } = context;
    this.#wait = { traceId, spanId: newSpanId(), environment, site, startMs: now(), links: [] };
    waits.add(this.#wait);
  }

  endTokenWait(): void {
    const wait = this.#wait;
    if (wait === undefined) return;
    this.#wait = undefined;
    const { waits, record } = this.#parts;
    waits.delete(wait);
    const { spanId, environment, site, startMs, links } = wait;
    record({
      ...this.#child(spanId),
      name: "await token",
      kind: "internal",
      startMs,
      endMs: this.#begun.now(),
      attributes: { "countersign.environment": environment.name, "countersign.site": site },
      links,
      isError: false,
    });
  }

  end(): void {
    const { context, parentSpanId, traceState, startMs, now } = this.#begun;
    const { traceId, spanId } = context;
    const { record } = this.#parts;
    for (const attempt of this.#attempts) record(attempt);
    record({
      traceId,
      spanId,
      parentSpanId,
      traceState,
      name: nameOfRequest(this.#event),
      kind: "server",
      startMs,
      endMs: now(),
      attributes: attributesOfRequest(this.#event, this.#listener),
      isError: isFailure(this.#event),
    });
  }
}

/** An attempt lasts until its response has been read, whole or as far as it is needed. */
function timed(response: UpstreamResponse, span: OpenSpan, now: () => number): UpstreamResponse {
  const { status, headers, body } = response;
  if (body instanceof Uint8Array) return response;
  async function* untilItsEnd(streamed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    try {
      yield* streamed;
    } finally {
      span.endMs = now();
    }
  }
  return { status, headers, body: untilItsEnd(body), discard: () => response.discard() };
}

/**
 * The headers of an attempt, with the attempt's own place in the trace instead of the caller's.
 * @param headers in lower case, with the caller's headers that may pass
 * @param traceState the caller's, if it is valid
 */
function propagate(
  headers: HeaderLines,
  context: SpanContext,
  traceState: string | undefined,
  propagation: TracerParts["propagation"],
): HeaderLines {
  const sent: string[] = [];
  let hasParent = false;
  let hasState = false;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? "";
    if (name === "traceparent") hasParent = true;
    else if (name === "tracestate") hasState = true;
    else sent.push(name, headers[index + 1] ?? "");
  }
  if (propagation === "never" || (propagation === "callers" && !hasParent)) return sent;
  sent.push("traceparent", formatTraceParent(context));
  if (hasState && traceState !== undefined) sent.push("tracestate", traceState);
  return sent;
}

/** The methods in OpenTelemetry's conventions for HTTP; any other is `_OTHER`. */
const knownMethods: ReadonlySet<string> = new Set([
  "CONNECT",
  "DELETE",
  "GET",
  "HEAD",
  "OPTIONS",
  "PATCH",
  "POST",
  "PUT",
  "TRACE",
  "QUERY",
]);

/** Names come from the configuration and the known methods, so that there are few. */
function nameOfRequest({ method, operationLabel }: RequestFinished): string {
  const verb = method !== undefined && knownMethods.has(method) ? method : "HTTP";
  const route = routeOf(operationLabel);
  return route === undefined ? verb : `${verb} ${route}`;
}

/** The `http.route` of an operation; a pass-through route's label already is a path. */
function routeOf(operationLabel: string): string | undefined {
  if (operationLabel === "none" || operationLabel === "other") return undefined;
  return operationLabel.startsWith("/") ? operationLabel : `/${operationLabel}`;
}

export function attributesOfRequest(event: RequestFinished, listener: ListenerContext): Attributes {
  const isKnown = event.method === undefined || knownMethods.has(event.method);
  return {
    "http.request.method": isKnown ? event.method : "_OTHER",
    "http.request.method_original": isKnown ? undefined : event.method,
    "http.route": routeOf(event.operationLabel),
    "url.scheme": listener.url.startsWith("https:") ? "https" : "http",
    "url.path": pathOf(event, listener.environment.baseUrl),
    ...serverOf(listener),
    "http.response.status_code": event.status,
    "error.type": isFailure(event) ? (event.code ?? String(event.status)) : undefined,
    "client.address": event.callerAddress,
    "http.request.body.size": event.requestBytes,
    "http.response.body.size": event.responseBytes,
    "countersign.environment": event.environment,
    "countersign.request_id": event.requestId,
    "countersign.reference": event.reference,
    "countersign.listener": event.listener,
    "countersign.caller": event.caller,
    "countersign.site": event.site,
    "countersign.auth": event.auth,
    "countersign.operation": event.operation,
    "countersign.outcome": event.outcome,
    "countersign.answered_by": event.by,
    "countersign.code": event.code,
    "countersign.cause": event.cause,
    "countersign.stage": event.stage,
    "countersign.attempts": event.attempts,
  };
}

/** A target that is a whole URL shows no path in the log, since it may be another service's. Then a known operation gives the path. */
function pathOf({ target, operation }: RequestFinished, baseUrl: Address): string | undefined {
  if (target === undefined || target.startsWith("/")) return target;
  return operation === undefined ? "/…" : `${baseUrl.path}/${operation}`;
}

const boundTo = /^(?:unix:(?<path>.+)|\[?(?<host>[^\]]*)\]?:(?<port>\d+))$/;

/** The listener's configured address: `0.0.0.0` for every address, and for a Unix socket its path. */
function serverOf({ listener = "" }: ListenerContext): Attributes {
  const { path, host, port } = boundTo.exec(listener)?.groups ?? {};
  if (path !== undefined) return { "server.address": path };
  if (port === undefined) return {};
  return { "server.address": host === "" ? "0.0.0.0" : host, "server.port": Number(port) };
}

/** A 4xx is the caller's error, not the server's; an answer that was cut short is a failure whatever its status says. */
function isFailure({ status, code, by }: RequestFinished): boolean {
  return status >= 500 || (code !== undefined && by === "service");
}

/** A request that Countersign sends. The path has no query: the service accepts none (spec 9), nor does a token endpoint. */
function attributesOfPost({ origin, host, port }: Address, path: string): Attributes {
  return {
    "http.request.method": "POST",
    "url.full": `${origin}${path}`,
    "server.address": host,
    "server.port": port,
  };
}

function attributesOfTokenRequest(event: TokenRequested): Attributes {
  return {
    "http.response.status_code": event.status,
    "error.type": event.result === "issued" ? undefined : event.result,
    "countersign.environment": event.environment,
    "countersign.credential": event.credential,
    "countersign.token_result": event.result,
    "countersign.token_reason": event.reason,
    "countersign.cause": event.cause,
  };
}
