import type { AuthMethod, RefusedSiteFile } from "./environment.ts";
import type { FailureCode, Outcome } from "./errors.ts";
import type { RedisEvent } from "./redis-access.ts";

/** Receives every event worth counting or logging. It never throws and never waits. */
export type Report = (event: Event) => void;

/** What is done with events, by their kind. */
type Handlers = { readonly [Kind in Event["kind"]]?: (event: Extract<Event, { kind: Kind }>) => void };

/** Hands each event to the handler of its kind, where there is one. */
export function reportTo(handlers: Handlers): Report {
  return (event) => (handlers[event.kind] as Report | undefined)?.(event);
}

/**
 * Everything worth counting or logging. Logic reports it; adapters turn it into counters, log lines and lists of `/status`.
 * The present state is asked for instead (`CredentialSnapshot`, `RedisSnapshot`). No event holds a secret, a token, a signature or a
 * parameter's value.
 */
export type Event =
  | RequestFinished
  | UpstreamUnauthorized
  | ClockSkewMeasured
  | CharacterWarned
  | CallbackFinished
  | TunnelRequested
  | TokenEvent
  | RedisEvent
  | TraceEvent
  | ProcessEvent;

/**
 * The end of whatever came in at a listener. Foreign text in it is printable and bounded. It holds no value of a parameter, no
 * query, no signature and no secret.
 */
interface Finished {
  readonly environment: string;
  readonly requestId: string;
  /** `x-request-id` as it came in, where it is well-formed. */
  readonly callerRequestId?: string | undefined;
  /** The trace-id of `traceparent` (W3C Trace Context), where one was sent; with tracing that of the request's trace. */
  readonly traceId?: string | undefined;
  /** Absent where the head could not be read. */
  readonly method?: string | undefined;
  /** The request target up to its query; absent for CONNECT, whose target is a foreign host. */
  readonly target?: string | undefined;
  /** The listener's `bind`, as configured. */
  readonly listener?: string | undefined;
  /** Who called: its name in the configuration, or else the subject or the first name of its certificate. */
  readonly caller?: string | undefined;
  /** The caller's IP address; absent over a Unix socket. */
  readonly callerAddress?: string | undefined;
  /** S… once it is known; of a callback, where it named one that is configured: it is true where the callback is genuine. */
  readonly site?: string | undefined;
  /** The HTTP status that was given. */
  readonly status: number;
  /** Of a callback, `answered` is by the application. */
  readonly outcome: Outcome;
  /** Set when Countersign failed to serve, or an answer was cut short after its head had been passed on. */
  readonly code?: FailureCode | undefined;
  /** What a failure came from: a code, a reason, the name of a parameter, header or setting, or a foreign host. */
  readonly cause?: string | undefined;
  /** K… of the key that signed, or verified a callback. */
  readonly key?: string | undefined;
  /** From the complete head to the end of the answer. */
  readonly durationMs: number;
  /** Length of the body that came in. */
  readonly requestBytes?: number | undefined;
  /** Length of the answer's body, as far as it was written. */
  readonly responseBytes?: number | undefined;
  readonly callerLeft: boolean;
}

export const callerSignatureResults = ["valid", "invalid", "unknown_key", "incomplete", "missing"] as const;
/**
 * What is found of the signature that a caller makes itself, from its days with HMAC. `valid`: it is that of the key
 * that the service would check it with, over what the caller sent (spec 5.2, 5.3). `invalid`: it is not the key's.
 * `unknown_key`: no such key of that version is configured at the site. `incomplete`: version, site_identifier or
 * timestamp is missing. `missing`: there is no signature.
 */
export type CallerSignatureResult = (typeof callerSignatureResults)[number];

export const onceResults = [
  "recorded",
  "freed",
  "unrecorded",
  "replayed",
  "already_sent",
  "in_progress",
  "key_reused",
  "unavailable",
] as const;
/**
 * What came of a request's Countersign-Once. `recorded`: it was sent, and what became of it is known to all replicas.
 * `freed`: it was not sent, and the key may be used again. `unrecorded`: its end could not be written, so that the key reads
 * as `unknown`. `replayed`: it got the answer of the first one. The rest: why it was refused.
 */
type OnceResult = (typeof onceResults)[number];

export const retryResults = ["cured", "refused", "failed", "not_possible"] as const;
/** What came of a 401. `cured`: the retry got another answer. `refused`: 401 again. `failed`: no answer. `not_possible`: no retry. */
type RetryResult = (typeof retryResults)[number];

const suppressionReasons = ["paused", "limited"] as const;
/**
 * Why a refresh after a 401 was not made. `paused`: the site's last ones were useless. `limited`: one for another site was,
 * a moment ago, and this site has not accepted the present token.
 */
export type SuppressionReason = (typeof suppressionReasons)[number];

/** Why a 401 brings no newer token. `no_token`: the authorization server issued none. `too_late`: none came in time for a retry. */
export type NoNewerToken = SuppressionReason | "no_token" | "too_late";

export const noRetryReasons = [...suppressionReasons, "no_token", "too_late", "caller_left", "not_repeatable"] as const;
/** Why a 401 was not followed by a retry. `not_repeatable`: the body has been streamed. */
export type NoRetryReason = (typeof noRetryReasons)[number];

export const tokenOutages = ["token_unavailable", "credentials_refused"] as const satisfies FailureCode[];
/** Why no token can be had: the failure that a request without one ends with. */
export type TokenOutage = (typeof tokenOutages)[number];

/** The end of a request, answered by the service or by Countersign. */
export interface RequestFinished extends Finished {
  readonly kind: "request_finished";
  /** The request's own span, where the trace is recorded: 16 hex digits. */
  readonly spanId?: string | undefined;
  /** The caller's own key for this order, from Countersign-Reference. */
  readonly reference: string | undefined;
  readonly auth: AuthMethod | undefined;
  /** Why it was signed in place of carrying a token: its site has `bridge: hmac`. */
  readonly bridged?: TokenOutage | undefined;
  /** As called; log it, but label metrics with `operationLabel`. */
  readonly operation: string | undefined;
  /** Configured operation name, `other`, or `none` before one is known. */
  readonly operationLabel: string;
  readonly by: "service" | "countersign";
  /** The step at which it ended, e.g. `read_parameters`, `send`, `stream_answer`. */
  readonly stage: string;
  /** How many times it was handed to the service's connection: 0, 1 or 2. */
  readonly attempts: number;
  /** With OAuth, where the first attempt was answered 401. */
  readonly retry?: RetryResult | undefined;
  /** Where no retry was possible. */
  readonly retryReason?: NoRetryReason | undefined;
  /** All attempts together, from handing over to the end of the answer; undefined when none was made. */
  readonly upstreamMs: number | undefined;
  /** The proxy's own share: the duration without the service, the wait for a token and the caller's sending. */
  readonly overheadMs: number;
  /** All waits for a token together. */
  readonly tokenWaitMs?: number | undefined;
  /** Until a connection to the service was ready, all attempts together. */
  readonly connectMs?: number | undefined;
  /** The name that the configuration gives to its caller, where callers have names. */
  readonly callerName?: string | undefined;
  /** `<site>/<name>` of the credential set whose token was attached last. */
  readonly credential?: string | undefined;
  /** Where the site has them checked: what the caller's own signature is. */
  readonly callerSignature?: CallerSignatureResult | undefined;
  /** What came of its Countersign-Once. */
  readonly once?: OnceResult | undefined;
  /** Id of the request that has its Countersign-Once. */
  readonly onceFirst?: string | undefined;
  /** The answer's headers named in `log.upstreamHeaders`. */
  readonly upstreamHeaders?: Readonly<Record<string, string>> | undefined;
}

const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);

/** Whether a request asks for no change (RFC 9110 section 9.2.1). */
export function isSafe({ method }: Pick<RequestFinished, "method">): boolean {
  return method !== undefined && safeMethods.has(method);
}

/**
 * Whether it may have changed something without anybody knowing: an alarm counts it, and an operator looks it up. A safe request
 * has changed nothing, whatever became of it and of its stream.
 */
export function hasUnknownEffect(event: Pick<RequestFinished, "outcome" | "method">): boolean {
  return event.outcome === "unknown" && !isSafe(event);
}

/** The end of a callback: the access line of a listener for callbacks. */
export interface CallbackFinished extends Finished {
  readonly kind: "callback_finished";
  readonly listener: string;
  readonly form?: "json" | "form" | "query" | undefined;
  /** What came of it: a label of metrics, from a fixed list. */
  readonly result: CallbackResult;
  /** False where the store of replays failed, so that the application may get it twice. */
  readonly isGuarded?: boolean | undefined;
  /** From connecting to the end of the application's answer. */
  readonly applicationMs?: number | undefined;
}

/** What is wrong with a callback that is not genuine. */
export const forgeryReasons = [
  "parameter_missing",
  "site_unknown",
  "key_missing",
  "signature_wrong",
  "timestamp_invalid",
] as const;
/**
 * `parameter_missing`: version, site_identifier, timestamp or signature. `key_missing`: the site has no key of the
 * callback's version. `timestamp_invalid`: it is not in Unix seconds.
 */
export type ForgeryReason = (typeof forgeryReasons)[number];

/**
 * `delivered`: the application answered 2xx. `declined`: it answered something else. `repeated`: it had answered 2xx to the
 * same callback before, so that it did not get it again. The rest: why it did not get it, or gave no answer.
 */
export type CallbackResult = "delivered" | "declined" | "repeated" | ForgeryReason | FailureCode;

/** The service answered 401 (spec 5.4). */
interface UpstreamUnauthorized {
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

/** The service's Date header against our wall clock, at each answer that has one. */
interface ClockSkewMeasured {
  readonly kind: "clock_skew_measured";
  readonly environment: string;
  /** Ours minus theirs. */
  readonly skewSeconds: number;
}

/** `characters: warn` let a value through that breaks spec 5.2 rule 3. */
interface CharacterWarned {
  readonly kind: "character_warned";
  readonly environment: string;
  readonly site: string;
  readonly parameter: string;
  /** 1-based position in the value. */
  readonly position: number;
}

/** What fails again and again is logged once a minute. */
interface Repeating {
  /** The first of its kind for a minute. */
  readonly isFirst: boolean;
}

/** What came of one request to the authorization server. */
export type TokenResult = "issued" | "refused" | "throttled" | "failed" | "timed_out" | "malformed";

export const tunnelResults = ["opened", "unauthorized", "refused", "malformed", "timed_out", "failed"] as const;
/**
 * What came of one CONNECT. `unauthorized`: 407. `refused`: another status than 2xx. `malformed`: no answer in HTTP/1.1.
 * `timed_out`: not within `timeouts.connect`. `failed`: no connection to the proxy, or it broke.
 */
export type TunnelResult = (typeof tunnelResults)[number];

/** A forward proxy was asked for a tunnel to a host of the environment. */
interface TunnelRequested extends Repeating {
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
}

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
      /** What was left of the assertion from a file when it was sent, by its `exp`; negative where it had expired. */
      readonly assertionRemainingMs?: number | undefined;
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

/**
 * One credential set at the moment of asking: what gauges, /status and readiness show. Times are on the monotonic clock.
 */
export interface CredentialSnapshot {
  readonly environment: string;
  /** `<site>/<name>`, as metrics and logs name it. */
  readonly credential: string;
  /** Its site uses this set now. */
  readonly isActive: boolean;
  readonly token: TokenSnapshot | undefined;
  /** When its token was attached to a request last. */
  readonly lastUsedMs: number | undefined;
  /** The authorization server is not asked before. */
  readonly backoffUntilMs: number | undefined;
  /** The last token request has failed, and no token is left. */
  readonly isInOutage: boolean;
}

/** One for each set, whatever its sites; for maps and sets. */
export function credentialKey({
  environment,
  credential,
}: Pick<CredentialSnapshot, "environment" | "credential">): string {
  return `${environment} ${credential}`;
}

export interface TokenSnapshot {
  readonly lifetimeMs: number;
  readonly expiresAtMs: number;
  /** Issued to this process; otherwise it came from the shared cache. */
  readonly issuedHere: boolean;
  /** Why it was asked for. */
  readonly reason: RefreshReason;
}

/** Why the configuration was read again. */
export type ReloadTrigger = "sighup" | "file_change";

/** A name was not looked up in time, or no name server answered: a connection goes to the address that it had before. */
export interface OldAddressUsed extends Repeating {
  readonly kind: "old_address_used";
  readonly host: string;
  /** `DNS_TIMEOUT`: the answer is late. `EAI_AGAIN`: no name server answered, or none could. */
  readonly cause: string;
  /** How long ago the name server gave that address. */
  readonly ageMs: number;
}

interface AtListener extends Repeating {
  /** Where it listens, as configured. */
  readonly listener: string;
  /** A code of OpenSSL, Node or the system. */
  readonly reason: string;
}

/** Events of the process. */
type ProcessEvent =
  | OldAddressUsed
  | {
      readonly kind: "started";
      readonly version: string;
      readonly configHash: string;
      /** Where each listener leads, one line each. */
      readonly routes: readonly string[];
      readonly admin: string;
      readonly status: string;
    }
  | {
      /** A warning that was not there before: at the start each, at a reload what is new. */
      readonly kind: "configuration_warned";
      /** Stable; `acknowledge` takes it. */
      readonly code: string;
      readonly path: string;
      /** What is so, and what to do. */
      readonly message: string;
      /** Further warnings of this code, which get no line; `countersign check` prints them. */
      readonly more?: number | undefined;
    }
  /** A caller's TLS handshake failed at a listener with mTLS: its certificate or its TLS version was refused. */
  | (AtListener & { readonly kind: "handshake_failed" })
  /** A connection could not be taken; `ENFILE` where the machine can open no more. */
  | (AtListener & { readonly kind: "accept_failed" })
  | {
      /** Node warned of something in this process. */
      readonly kind: "process_warned";
      /** Its name, its code if it has one, and its stack frames, without the message, which may quote foreign text. */
      readonly warning: string;
    }
  | {
      /** Standard output takes lines again, after its reader stalled or a disk was full. */
      readonly kind: "log_lines_dropped";
      readonly dropped: number;
    }
  | {
      /** Another configuration is active from now on. */
      readonly kind: "config_applied";
      readonly hash: string;
      readonly previousHash: string;
      readonly trigger: ReloadTrigger;
      /** Where each listener leads, one line each. */
      readonly routes: readonly string[];
    }
  | {
      readonly kind: "config_refused";
      /** The hash of the configuration that stays active. */
      readonly hash: string;
      readonly trigger: ReloadTrigger;
      /** What is wrong with the refused one, for people; no secret in it. */
      readonly problems: readonly string[];
    }
  /** A site's file holds what cannot be served; all others are. Once for each content. */
  | (RefusedSiteFile & { readonly kind: "site_file_refused"; readonly environment: string })
  | {
      /** Sites of a folder came, went or changed. */
      readonly kind: "sites_changed";
      readonly environment: string;
      readonly added: number;
      readonly changed: number;
      readonly removed: number;
      /** Their names, few of many. */
      readonly names: readonly string[];
    }
  /** What was read again is the active configuration. */
  | { readonly kind: "config_unchanged"; readonly hash: string }
  | { readonly kind: "draining"; readonly signal: string; readonly inFlight: number }
  | { readonly kind: "stopped"; readonly drained: boolean }
  | {
      /** A defect: something that is not a ProxyError reached the outermost catch. */
      readonly kind: "defect";
      readonly where: string;
      /** The id of the request that met the error. */
      readonly requestId?: string | undefined;
      /** The error's class and its stack frames without the message, which may quote foreign text. */
      readonly error: string;
    };

/** Events of the spans that tracing exports. */
export type TraceEvent =
  /** The collector has taken spans. */
  | { readonly kind: "spans_exported"; readonly count: number }
  | (Repeating & {
      /** Spans that no collector will have. */
      readonly kind: "spans_lost";
      /** `dropped`: they were not sent, since too many waited, or at the end. `rejected`: the collector refused them. */
      readonly result: "dropped" | "rejected";
      readonly count: number;
      /** `no room`, `the end`, or the collector's status. */
      readonly cause: string;
    })
  | (Repeating & {
      /** The collector took nothing now; the spans are sent again. */
      readonly kind: "spans_delayed";
      /** How many wait. */
      readonly waiting: number;
      /** A code of the connection, or the collector's status. */
      readonly cause: string;
      readonly pauseMs: number;
    });

/** What became of spans. */
export const spanResults = ["exported", "dropped", "rejected"] as const;

export const statusClasses = ["2xx", "3xx", "4xx", "5xx"] as const;

/** The class of an answer's status (RFC 9110 section 15): `5xx` of 502. Below 200, such as 101, or above 599 it is the nearest. */
export function statusClass(status: number): (typeof statusClasses)[number] {
  return statusClasses[Math.min(Math.max(Math.floor(status / 100), 2), 5) - 2] ?? "5xx";
}
