import type { CallbackFinished } from "./callback-events.ts";
import type { CallerSignatureResult } from "./caller.ts";
import type { AuthMethod } from "./environment.ts";
import type { FailureCode, Outcome } from "./errors.ts";
import type { ProcessEvent, TraceEvent } from "./process-events.ts";
import type { RedisEvent } from "./redis-access.ts";

/** Receives every event worth counting or logging. It never throws and never waits. */
export type Report = (event: Event) => void;

/**
 * Everything worth counting or logging. Logic reports it; adapters turn it into counters, log lines and lists of `/status`.
 * The present state is asked for instead (credential-snapshot.ts). No event holds a secret, a token, a signature or a
 * parameter's value.
 */
export type Event =
  | RequestAccepted
  | RequestFinished
  | UpstreamUnauthorized
  | RetryFinished
  | ClockSkewMeasured
  | CharacterWarned
  | CallbackFinished
  | TunnelRequested
  | TokenEvent
  | RedisEvent
  | TraceEvent
  | ProcessEvent;

/** A request was admitted; exactly one RequestFinished with the same id follows. */
export interface RequestAccepted {
  readonly kind: "request_accepted";
  readonly environment: string;
  readonly requestId: string;
}

/**
 * What the log says of a request beyond what is counted. Foreign text in it is printable and bounded. It holds no value
 * of a parameter, no query and no secret.
 */
export interface RequestDetails {
  /** What a failure came from: a code, the name of a parameter, header or setting, or a foreign host. */
  readonly cause?: string | undefined;
  /** Absent where the head could not be read. */
  readonly method?: string | undefined;
  /** The request target up to its query; absent for CONNECT, whose target is a foreign host. */
  readonly target?: string | undefined;
  /** Where it came in, as configured. */
  readonly listener?: string | undefined;
  /** Who called: its name in the configuration, or else the subject or the first name of its certificate. */
  readonly caller?: string | undefined;
  /** The caller's IP address; absent over a Unix socket. */
  readonly callerAddress?: string | undefined;
  /** `x-request-id` of the caller, where it is well-formed. */
  readonly callerRequestId?: string | undefined;
  /** `<site>/<name>` of the credential set whose token was attached last. */
  readonly credential?: string | undefined;
  /** K… of the key that signed. */
  readonly key?: string | undefined;
  /** Where the site has them checked: what the caller's own signature is. */
  readonly callerSignature?: CallerSignatureResult | undefined;
  /** What came of its Countersign-Once. */
  readonly once?: OnceResult | undefined;
  /** Id of the request that has its Countersign-Once. */
  readonly onceFirst?: string | undefined;
  /** All waits for a token together. */
  readonly tokenWaitMs?: number | undefined;
  /** Until a connection to the service was ready, all attempts together. */
  readonly connectMs?: number | undefined;
  /** Length of the body that the caller sent. */
  readonly requestBytes?: number | undefined;
  /** Length of the body that the caller was given, as far as it got. */
  readonly responseBytes?: number | undefined;
  /** The answer's headers named in `log.upstreamHeaders`. */
  readonly upstreamHeaders?: Readonly<Record<string, string>> | undefined;
}

export const onceResults = [
  "recorded",
  "freed",
  "unrecorded",
  "already_sent",
  "in_progress",
  "key_reused",
  "unavailable",
] as const;
/**
 * What came of a request's Countersign-Once. `recorded`: it was sent, and what became of it is known to all replicas.
 * `freed`: it was not sent, and the key may be used again. `unrecorded`: its end could not be written, so that the key reads
 * as `unknown`. The rest: why it was refused.
 */
export type OnceResult = (typeof onceResults)[number];

/** The end of a request, answered by the service or by Countersign. */
export interface RequestFinished extends RequestDetails {
  readonly kind: "request_finished";
  readonly environment: string;
  readonly requestId: string;
  /** The trace-id of `traceparent` (W3C Trace Context), when the caller sent one; with tracing that of the request's trace. */
  readonly traceId: string | undefined;
  /** Of its own span, where the trace is recorded: 16 hex digits. */
  readonly spanId?: string | undefined;
  /** The caller's own key for this order, from Countersign-Reference. */
  readonly reference: string | undefined;
  /** S… once it is known. */
  readonly site: string | undefined;
  readonly auth: AuthMethod | undefined;
  /** As called; log it, but label metrics with `operationLabel`. */
  readonly operation: string | undefined;
  /** Configured operation name, `other`, or `none` before one is known. */
  readonly operationLabel: string;
  /** The HTTP status given to the caller. */
  readonly status: number;
  readonly by: "service" | "countersign";
  readonly outcome: Outcome;
  /** Set when Countersign failed to serve, or an answer was cut short after its head had been passed on. */
  readonly code: FailureCode | undefined;
  /** The step at which it ended, e.g. `read_parameters`, `send`, `stream_answer`. */
  readonly stage: string;
  /** How many times it was handed to the service's connection: 0, 1 or 2. */
  readonly attempts: number;
  /** True when this request was admitted and counted in flight. */
  readonly admitted: boolean;
  /** From the complete request head to the end of the answer. */
  readonly durationMs: number;
  /** All attempts together, from handing over to the end of the answer; undefined when none was made. */
  readonly upstreamMs: number | undefined;
  /** The proxy's own share: the duration without the service, the wait for a token and the caller's sending. */
  readonly overheadMs: number;
  /** The name that the configuration gives to its caller, where callers have names. */
  readonly callerName?: string | undefined;
  readonly callerLeft: boolean;
}

/** The service answered 401 (spec 5.4). */
export interface UpstreamUnauthorized {
  readonly kind: "upstream_unauthorized";
  readonly environment: string;
  readonly site: string;
  readonly auth: AuthMethod;
  readonly attempt: 1 | 2;
  readonly credential: string | undefined;
  readonly requestId: string;
  readonly reference: string | undefined;
  /** The answer's headers named in `log.upstreamHeaders`: the service's own correlation identifiers. */
  readonly upstreamHeaders: Readonly<Record<string, string>>;
}

/** The result of a second attempt. */
export interface RetryFinished {
  readonly kind: "retry_finished";
  readonly environment: string;
  readonly site: string;
  /** `cured`: no 401 any more. `refused`: 401 again. `failed`: no answer. `not_possible`: no other token was to be had. */
  readonly result: RetryResult;
  readonly requestId: string;
}

export const retryResults = ["cured", "refused", "failed", "not_possible"] as const;
export type RetryResult = (typeof retryResults)[number];

/** The service's Date header against our wall clock, at each answer that has one. */
export interface ClockSkewMeasured {
  readonly kind: "clock_skew_measured";
  readonly environment: string;
  /** Ours minus theirs. */
  readonly skewSeconds: number;
}

/** `characters: warn` let a value through that breaks spec 5.2 rule 3. */
export interface CharacterWarned {
  readonly kind: "character_warned";
  readonly environment: string;
  readonly site: string;
  readonly parameter: string;
  /** 1-based position in the value. */
  readonly position: number;
}

export const tunnelResults = ["opened", "unauthorized", "refused", "malformed", "timed_out", "failed"] as const;
/**
 * What came of one CONNECT. `unauthorized`: 407. `refused`: another status than 2xx. `malformed`: no answer in HTTP/1.1.
 * `timed_out`: not within `timeouts.connect`. `failed`: no connection to the proxy, or it broke.
 */
export type TunnelResult = (typeof tunnelResults)[number];

/** A forward proxy was asked for a tunnel to a host of the environment. */
export interface TunnelRequested {
  readonly kind: "tunnel_requested";
  readonly environment: string;
  /** `host:port` of the proxy. */
  readonly proxy: string;
  /** `host:port` that it should lead to. */
  readonly destination: string;
  readonly result: TunnelResult;
  /** Why it does not stand, e.g. `PROXY_STATUS_407`. */
  readonly cause?: string | undefined;
  /** From the attempt to connect to the proxy. */
  readonly durationMs: number;
  /** A failure that is the first of its kind for a minute. */
  readonly isFirst: boolean;
}

export const tokenResults = ["issued", "refused", "throttled", "failed", "timed_out", "malformed"] as const;
/** What came of one request to the authorization server. */
export type TokenResult = (typeof tokenResults)[number];

export const suppressionReasons = ["paused", "limited"] as const;
/**
 * Why a refresh after a 401 was not made. `paused`: the site's last new token was refused too. `limited`: three
 * refreshes of the set cured nothing within a minute; six, where sites ask whose last token had been accepted.
 */
export type SuppressionReason = (typeof suppressionReasons)[number];

/** Why a token was asked for. */
export type RefreshReason = "start" | "missing" | "due" | "expired" | "unauthorized" | "redis_recovered" | "reload";

export const cacheTiers = ["memory", "redis"] as const;
export const cacheResults = ["hit", "miss", "unreadable", "error"] as const;
export const lockResults = ["acquired", "held", "unavailable"] as const;

/** Events of tokens. `environment` and `credential` (`<site>/<name>`) come from the configuration. */
export type TokenEvent =
  | {
      readonly kind: "token_requested";
      readonly environment: string;
      readonly credential: string;
      readonly result: TokenResult;
      readonly reason: RefreshReason;
      readonly durationMs: number;
      /** The authorization server's status, when it answered. */
      readonly status: number | undefined;
      /**
       * Why it brought no token: a code of the connection (`ECONNREFUSED`), the OAuth error code (RFC 6749 section
       * 5.2), or what is wrong with the answer.
       */
      readonly cause?: string | undefined;
      /** How long no further request is made; undefined without such a pause. */
      readonly pauseMs: number | undefined;
    }
  | {
      /** A token newly in use here, issued to this process or found in the shared cache. */
      readonly kind: "token_adopted";
      readonly environment: string;
      readonly credential: string;
      readonly issuedHere: boolean;
      readonly reason: RefreshReason;
      readonly lifetimeMs: number;
      /** What is left of it; the whole life when it was issued just now. */
      readonly remainingMs: number;
    }
  | { readonly kind: "token_lapsed"; readonly environment: string; readonly credential: string }
  | { readonly kind: "token_used"; readonly environment: string; readonly credential: string }
  | {
      /** Which set of a site is in use changed. */
      readonly kind: "credential_switched";
      readonly environment: string;
      readonly site: string;
      readonly from: string;
      readonly to: string;
    }
  /** It is not configured any more. */
  | { readonly kind: "credential_removed"; readonly environment: string; readonly credential: string }
  | {
      readonly kind: "refresh_suppressed";
      readonly environment: string;
      readonly credential: string;
      readonly site: string;
      readonly reason: SuppressionReason;
    }
  | {
      readonly kind: "token_cache_read";
      readonly tier: (typeof cacheTiers)[number];
      readonly result: (typeof cacheResults)[number];
    }
  | { readonly kind: "refresh_lock_tried"; readonly result: (typeof lockResults)[number] };

export const statusClasses = ["2xx", "3xx", "4xx", "5xx"] as const;
/** The class of an answer's status (RFC 9110 section 15); 1xx is never the last word. */
export type StatusClass = (typeof statusClasses)[number];

/** `5xx` of 502. What is below 200 or above 599 counts as the nearest. */
export function statusClass(status: number): StatusClass {
  return statusClasses[Math.min(Math.max(Math.floor(status / 100), 2), 5) - 2] ?? "5xx";
}
