import { firstOf } from "../http/headers.ts";
import { readTraceParent } from "../http/trace-context.ts";
import type { Clock } from "../model/clock.ts";
import type { AuthMethod, Site } from "../model/environment.ts";
import type { FailureCode, Outcome } from "../model/errors.ts";
import {
  type CallerSignatureResult,
  type Event,
  isFailedByService,
  type NoRetryReason,
  type OnceResult,
  type Report,
  type RequestFinished,
} from "../model/events.ts";
import type { BufferBudget } from "./buffer-budget.ts";
import { Admission, type ConcurrencyLimit } from "./concurrency-limit.ts";
import type {
  AccessEvent,
  AuthMaterial,
  CallerRequest,
  ListenerContext,
  OnceRecord,
  RequestTrace,
  Tracer,
  UpstreamResponse,
} from "./messages.ts";
import { peekReference, peekRequestId } from "./request-options.ts";
import { isHost, type Target, targetInLog } from "./target.ts";

/** Events cut an operation to this length, since with `operations: ["*"]` its length is the caller's choice. */
export const longestOperation = 128;

/** The steps of a request, by the names that logs and `/status` show. */
export type Stage =
  | "read_head"
  | "check_caller"
  | "admit"
  | "check_head"
  | "read_body"
  | "read_parameters"
  | "choose_site"
  | "enrich"
  | "await_token"
  | "claim_once"
  | "look_up_once"
  | "send"
  | "stream_answer";

/** The parts that serve operations, pass-through routes and callbacks alike. */
export interface ServeParts {
  readonly clock: Clock;
  readonly report: Report;
  /** A new, unguessable and unique id. */
  readonly newRequestId: () => string;
  /** `timeouts.request`. */
  readonly requestMs: number;
  /** One for each environment. */
  readonly concurrency: ConcurrencyLimit;
  /** One for the whole process. */
  readonly buffers: BufferBudget;
  /** The address of the documentation's site, if failures link to it. */
  readonly docsUrl?: string | undefined;
  /** Absent if tracing is not configured. */
  readonly tracer?: Tracer | undefined;
  /** Ends the waits of requests that are still open when the time to drain is over. */
  readonly shutdown?: AbortSignal | undefined;
}

export type ContextParts = Omit<ServeParts, "report" | "docsUrl">;

/** The result of a Countersign-Once, if the request was refused for it. */
const onceRefusals: { readonly [code: string]: OnceResult | undefined } = {
  already_sent: "already_sent",
  once_in_progress: "in_progress",
  once_key_reused: "key_reused",
  once_unavailable: "unavailable",
} satisfies { readonly [Code in FailureCode]?: OnceResult };

/** A request or a callback that is being served. */
export abstract class Context<Request extends CallerRequest = CallerRequest> {
  /** What is known of it so far. */
  abstract readonly event: Pick<RequestFinished, "requestId" | "outcome"> & { readonly reference?: string | undefined };
  readonly request: Request;
  readonly target: Target;
  readonly admission: Admission;
  /** On the monotonic clock. */
  deadlineMs: number;
  protected readonly clock: Clock;
  protected readonly startedMs: number;

  constructor(request: Request, target: Target, { clock, requestMs, concurrency, buffers }: ContextParts) {
    this.request = request;
    this.target = target;
    this.admission = new Admission(concurrency, buffers);
    this.clock = clock;
    this.startedMs = clock.nowMs();
    this.deadlineMs = this.startedMs + requestMs;
  }

  get elapsedMs(): number {
    return this.clock.nowMs() - this.startedMs;
  }

  abstract setResponseBytes(bytes: number): void;
  /** Completes the event, which is then reported. */
  abstract finish(): Event;
}

/** One request that is being served. Its steps fill in its event, which is reported when the request ends. */
export class RequestContext<Request extends CallerRequest = CallerRequest> extends Context<Request> {
  readonly listener: ListenerContext;
  /** Complete; the event has it cut to `longestOperation`. */
  operation: string | undefined;
  /** Present if the caller sent a key (Countersign-Once). */
  once: OnceRecord | undefined;
  /** Undefined if tracing is not configured. */
  readonly trace: RequestTrace | undefined;
  readonly #event: AccessEvent;
  readonly #shutdown: AbortSignal | undefined;
  /** Time spent waiting for the caller, the authorization server, Redis or the service. */
  #waitedMs = 0;
  /** When the present wait began; undefined outside a wait. */
  #waitingSinceMs: number | undefined;

  constructor(request: Request, target: Target, listener: ListenerContext, parts: ContextParts) {
    super(request, target, parts);
    this.listener = listener;
    this.#event = openEvent("request_finished", parts.newRequestId(), request, target, listener);
    this.trace = parts.tracer?.start(request.headers, this.#event, listener);
    this.#shutdown = parts.shutdown;
  }

  get event(): RequestFinished {
    return this.#event;
  }

  setStage(stage: Stage): void {
    this.endWait();
    this.#event.stage = stage;
  }

  /** Enters a stage that waits for another party. Until `endWait` or the next stage its time is not the proxy's own. */
  beginWait(stage: Stage): void {
    this.setStage(stage);
    this.#waitingSinceMs = this.clock.nowMs();
  }

  /** Harmless outside a wait. */
  endWait(): void {
    const sinceMs = this.#waitingSinceMs;
    if (sinceMs === undefined) return;
    this.#waitingSinceMs = undefined;
    const event = this.#event;
    const tookMs = this.clock.nowMs() - sinceMs;
    this.#waitedMs += tookMs;
    if (event.stage === "send") event.upstreamMs = (event.upstreamMs ?? 0) + tookMs;
    if (event.stage !== "await_token") return;
    event.tokenWaitMs = (event.tokenWaitMs ?? 0) + tookMs;
    this.trace?.endTokenWait();
  }

  /**
   * Gets a token. If it is not in memory, the time until it comes counts as a wait.
   * @param onShutdown replaces it if the process ends first
   */
  awaitToken<Found>(
    get: () => Found | Promise<Found>,
    onShutdown: () => Found | Promise<Found>,
  ): Found | Promise<Found> {
    this.beginWait("await_token");
    const found = get();
    if (!(found instanceof Promise)) return found;
    this.trace?.beginTokenWait();
    const shutdown = this.#shutdown;
    if (shutdown === undefined) return found;
    return new Promise((resolve, reject) => {
      const end = () => resolve(onShutdown());
      shutdown.addEventListener("abort", end);
      if (shutdown.aborted) end();
      found.then(resolve, reject).finally(() => shutdown.removeEventListener("abort", end));
    });
  }

  /** The process ends now: nothing that takes time is begun any more. */
  get isShutDown(): boolean {
    return this.#shutdown?.aborted === true;
  }

  /** How long the request may take in all. */
  get allowedMs(): number {
    return this.deadlineMs - this.startedMs;
  }

  /** Sets the deadline of a caller that allows less time than `timeouts.request`. */
  limitDeadline(timeoutMs: number | undefined): void {
    if (timeoutMs !== undefined) this.deadlineMs = this.startedMs + timeoutMs;
  }

  /** @param name of the caller in the configuration; undefined if callers have no names */
  setCaller(name: string | undefined): void {
    this.#event.callerName = name;
    if (name !== undefined) this.#event.caller = name;
  }

  /** Labels come from the configuration only, so no caller can make a new metric series. */
  setOperation(operation: string, known: ReadonlySet<string> | "any"): void {
    this.operation = operation;
    this.#event.operation = operation.slice(0, longestOperation);
    this.#event.operationLabel = known !== "any" && known.has(operation) ? operation : "other";
  }

  setSite({ identifier }: Site, auth: AuthMethod): void {
    this.#event.site = identifier;
    this.#event.auth = auth;
  }

  /** The request has what authenticates it. */
  setMaterial({ auth, bridged }: AuthMaterial): void {
    this.#event.auth = auth;
    if (bridged !== undefined) this.#event.bridged = bridged;
  }

  setCallerSignature(result: CallerSignatureResult): void {
    this.#event.callerSignature = result;
  }

  /** A key was looked up, and nothing was sent. @param first id of the first request with this key */
  setLookedUp(first: string | undefined): void {
    this.#event.once = "looked_up";
    this.#event.onceFirst = first;
  }

  setRequestBytes(bytes: number): void {
    this.#event.requestBytes = bytes;
  }

  setResponseBytes(bytes: number): void {
    this.#event.responseBytes = bytes;
  }

  beginAttempt({ key, credential }: AuthMaterial): void {
    this.#event.attempts += 1;
    if (key !== undefined) this.#event.key = key;
    if (credential !== undefined) this.#event.credential = credential;
  }

  /** The service has answered an attempt. */
  setAnswered(
    { status, headers }: Pick<UpstreamResponse, "status" | "headers">,
    upstreamHeaders: RequestFinished["upstreamHeaders"],
  ): void {
    const event = this.#event;
    event.outcome = "answered";
    event.upstreamHeaders = upstreamHeaders;
    if (status >= 300 && status <= 399) event.location = hostOf(firstOf(headers, "location"));
    if (this.operation !== undefined) event.contentType = foreignType(firstOf(headers, "content-type"));
  }

  setOutcome(outcome: Outcome): void {
    this.#event.outcome = outcome;
  }

  /** @param reason why no retry was possible */
  setRetry(result: RequestFinished["retry"], reason?: NoRetryReason): void {
    this.#event.retry = result;
    if (reason !== undefined) this.#event.retryReason = reason;
  }

  /** The second attempt was not sent: what counts is the first, which was answered. */
  forgetSecondAttempt(): void {
    this.#event.attempts = 1;
    this.#event.outcome = "answered";
  }

  /** The body of the service's response; counts its bytes and the time until each piece arrives. */
  received(body: UpstreamResponse["body"]): UpstreamResponse["body"] {
    if (!(body instanceof Uint8Array)) return this.#timed(body);
    this.#event.responseBytes = body.length;
    return body;
  }

  /** The wait for each piece is the service's time; the time after a piece has come is not. */
  async *#timed(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    const event = this.#event;
    event.responseBytes ??= 0;
    let startedMs: number | undefined = this.clock.nowMs();
    try {
      for await (const piece of body) {
        this.#addUpstream(startedMs);
        startedMs = undefined;
        event.responseBytes += piece.length;
        yield piece;
        startedMs = this.clock.nowMs();
      }
    } finally {
      this.#addUpstream(startedMs);
    }
  }

  #addUpstream(sinceMs: number | undefined): void {
    if (sinceMs === undefined) return;
    this.#event.upstreamMs = (this.#event.upstreamMs ?? 0) + (this.clock.nowMs() - sinceMs);
  }

  /** Measures how long a connection takes to be ready. Call the returned function when it is ready; later calls do nothing. */
  connecting(): () => void {
    let startedMs: number | undefined = this.clock.nowMs();
    return () => {
      if (startedMs === undefined) return;
      this.#event.connectMs = (this.#event.connectMs ?? 0) + this.clock.nowMs() - startedMs;
      startedMs = undefined;
    };
  }

  /** Records how the request ended for its caller. */
  end(status: number, by: RequestFinished["by"], outcome: Outcome, code?: FailureCode, cause?: string): void {
    const event = this.#event;
    this.endWait();
    event.status = status;
    event.by = by;
    event.outcome = outcome;
    event.code = code;
    if (cause !== undefined) event.cause = cause;
  }

  finish(): RequestFinished {
    const event = this.#event;
    event.durationMs = this.elapsedMs;
    event.overheadMs = Math.max(0, event.durationMs - this.#waitedMs);
    event.callerLeft = this.request.isClosed();
    const { by, status, operationLabel, contentType } = event;
    const isFailed = event.code !== undefined || isFailedByService(by, status, operationLabel);
    if (event.attempts > 0 && (isFailed || contentType !== undefined))
      event.server = this.listener.environment.baseUrl.origin;
    const once = onceRefusals[event.code ?? ""] ?? this.once?.result;
    if (once !== undefined) event.once = once;
    if (this.once?.first !== undefined) event.onceFirst = this.once.first;
    if (this.once !== undefined && event.outcome === "unknown") event.onceName = this.once.name;
    this.trace?.end();
    return event;
  }
}

/** The host of a URL that the service sent, for the log: its path and query may hold parameters. */
function hostOf(url: string | undefined): string | undefined {
  const host = url === undefined ? undefined : /^(?:https?:)?\/\/(?:[^/?#@]*@)?([^/?#@]*)/i.exec(url)?.[1];
  return isHost(host) ? host : undefined;
}

const mediaType = /^[\w!#$&^.+-]{1,64}\/[\w!#$&^.+-]{1,64}/;

/** The media type of an answer that is not JSON; undefined if it is, or if it gives none. */
function foreignType(contentType: string | undefined): string | undefined {
  const type = contentType === undefined ? undefined : (mediaType.exec(contentType)?.[0] ?? "malformed");
  return type === undefined || /[/+]json$/i.test(type) ? undefined : type;
}

/**
 * The event of a request or a callback before it is checked, with the fields of both, of which each shows its own. One literal: V8 keeps an object that is
 * made by spreading another object as a dictionary, and each order then uses twice the CPU.
 */
export function openEvent<Kind extends Event["kind"], Place extends Pick<ListenerContext, "environment" | "listener">>(
  kind: Kind,
  requestId: string,
  { method, peer, headers }: CallerRequest,
  target: Target,
  place: Place,
) {
  return {
    kind,
    environment: place.environment.name,
    requestId,
    callerRequestId: peekRequestId(headers),
    traceId: readTraceParent(headers)?.traceId,
    reference: peekReference(headers),
    method: method === "" ? undefined : method,
    target: targetInLog(method, target),
    listener: place.listener as Place["listener"],
    caller: peer?.subject,
    callerAddress: peer?.address,
    site: undefined,
    auth: undefined,
    operation: undefined,
    operationLabel: "none",
    result: "internal" as const,
    status: 0,
    by: "countersign" as const,
    outcome: "not_sent" as const,
    code: undefined,
    stage: "read_head",
    attempts: 0,
    durationMs: 0,
    upstreamMs: undefined,
    overheadMs: 0,
    callerLeft: false,
  };
}
