import type { AuthMethod, RefusedSiteFile } from "./environment.ts";
import type { FailureCode, Outcome } from "./errors.ts";
import type { RedisEvent } from "./redis-access.ts";

/** Receives every event worth counting or logging. It never throws and never waits. */
export type Report = (event: Event) => void;

/** The handlers of events, by kind. */
type Handlers = { readonly [Kind in Event["kind"]]?: (event: Extract<Event, { kind: Kind }>) => void };

/** Hands each event to the handler of its kind, if there is one. */
export function reportTo(handlers: Handlers): Report {
  return (event) => (handlers[event.kind] as Report | undefined)?.(event);
}

/**
 * Everything worth counting or logging. Logic reports it; adapters turn it into counters, log lines and lists of `/status`.
 * The present state is no event: it is read on demand (`CredentialSnapshot`, `RedisSnapshot`). No event holds a secret, a
 * token, a signature or a parameter's value.
 */
export type Event =
  | RequestFinished
  | UpstreamUnauthorized
  | ClockSkewMeasured
  | CharacterWarned
  | OutcomeSettled
  | CallbackFinished
  | OutageEnded
  | TunnelRequested
  | TokenEvent
  | RedisEvent
  | TraceEvent
  | ProcessEvent;

/**
 * The end of a request or a callback. Foreign text in it is printable and bounded. It holds no value of a parameter, no
 * query, no signature and no secret.
 */
interface Finished {
  readonly environment: string;
  readonly requestId: string;
  /** The `x-request-id` that the caller sent, if it is well-formed. */
  readonly callerRequestId?: string | undefined;
  /** The trace-id of `traceparent` (W3C Trace Context), if the caller sent one; with tracing, that of the request's trace. */
  readonly traceId?: string | undefined;
  /** Absent if the head could not be read. */
  readonly method?: string | undefined;
  /** The request target up to its query; absent for CONNECT, whose target is a foreign host. */
  readonly target?: string | undefined;
  /** The listener's `bind`, as configured. */
  readonly listener?: string | undefined;
  /** The caller's name in the configuration, or else the subject or the first name of its certificate. */
  readonly caller?: string | undefined;
  /** The caller's IP address; absent over a Unix socket. */
  readonly callerAddress?: string | undefined;
  /** S… once it is known. Of a callback: the configured site that it names, which is proved only if the callback is genuine. */
  readonly site?: string | undefined;
  /** The answer's HTTP status; 499 if the caller left before it had an answer. */
  readonly status: number;
  /** Of a callback, `answered` means that the application answered. */
  readonly outcome: Outcome;
  /** Set when Countersign failed to serve, or an answer was cut short after its head had been passed on. */
  readonly code?: FailureCode | undefined;
  /** The cause of a failure: a code, a reason, the name of a parameter, header or setting, or a foreign host. */
  readonly cause?: string | undefined;
  /** The origin of the service, or of a callback's application, if that did not answer, or not as it should. */
  readonly server?: string | undefined;
  /** K… of the key that signed, or verified a callback. */
  readonly key?: string | undefined;
  /** From the complete head to the end of the answer. */
  readonly durationMs: number;
  /** Length of the body that was received. */
  readonly requestBytes?: number | undefined;
  /** Length of the answer's body, as far as it was written. */
  readonly responseBytes?: number | undefined;
  readonly callerLeft: boolean;
}

export const callerSignatureResults = ["valid", "invalid", "unknown_key", "incomplete", "missing"] as const;
/**
 * The result of checking the signature that a caller still makes itself, as before Countersign. `valid`: made with the key
 * that the service would use to check it, over the caller's parameters (spec 5.2, 5.3). `invalid`: not made with it.
 * `unknown_key`: no such key of that version is configured at the site. `incomplete`: version, site_identifier or timestamp
 * is missing. `missing`: there is no signature.
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
  "looked_up",
] as const;
/**
 * The result of a request's Countersign-Once. `recorded`: it was sent, and all replicas know its result. `freed`: it was not
 * sent, and the key may be used again. `unrecorded`: its result could not be written, so a repetition finds `unknown`.
 * `replayed`: it got the answer of the first request. `looked_up`: it only asked for the key, and got an answer. The others:
 * why it was refused.
 */
export type OnceResult = (typeof onceResults)[number];

export const retryResults = ["cured", "refused", "failed", "not_possible"] as const;
/** The result of a 401. `cured`: the retry got another status. `refused`: 401 again. `failed`: no answer. `not_possible`: no retry. */
type RetryResult = (typeof retryResults)[number];

const suppressionReasons = ["paused", "limited"] as const;
/**
 * Why a refresh after a 401 was not made. `paused`: the site's last refreshes were useless. `limited`: the site's budget is
 * spent; or a refresh for another site was useless a moment ago, and this site has accepted no token yet.
 */
export type SuppressionReason = (typeof suppressionReasons)[number];

/** Why a 401 brings no newer token. `no_token`: the authorization server issued none. `too_late`: none came in time for a retry. */
export type NoNewerToken = SuppressionReason | "no_token" | "too_late";

export const noRetryReasons = [...suppressionReasons, "no_token", "too_late", "caller_left", "not_repeatable"] as const;
/** Why a 401 was not followed by a retry. `not_repeatable`: the body has been streamed. */
export type NoRetryReason = (typeof noRetryReasons)[number];

export const tokenOutages = ["token_unavailable", "credentials_refused"] as const satisfies FailureCode[];
/** Why no token is available: the failure code of a request without one. */
export type TokenOutage = (typeof tokenOutages)[number];

/** The end of a request, answered by the service or by Countersign. */
export interface RequestFinished extends Finished {
  readonly kind: "request_finished";
  /** The request's own span, if the trace is recorded: 16 hex digits. */
  readonly spanId?: string | undefined;
  /** The caller's own key for this order, from Countersign-Reference. */
  readonly reference: string | undefined;
  readonly auth: AuthMethod | undefined;
  /** Why it was signed instead of carrying a token: its site has `bridge: hmac`. */
  readonly bridged?: TokenOutage | undefined;
  /** As called; log it, but label metrics with `operationLabel`. */
  readonly operation: string | undefined;
  /** Configured operation name, prefix of a pass-through route, `other`, or `none` before one is known. */
  readonly operationLabel: string;
  readonly by: "service" | "countersign";
  /** The step at which it ended, e.g. `read_parameters`, `send`, `stream_answer`. */
  readonly stage: string;
  /** How many times it was handed to a connection of the service: 0, 1 or 2. */
  readonly attempts: number;
  /** With OAuth, if the first attempt was answered 401. */
  readonly retry?: RetryResult | undefined;
  /** Why no retry was possible. */
  readonly retryReason?: NoRetryReason | undefined;
  /** All attempts together, from handing over to the end of the answer; undefined when none was made. */
  readonly upstreamMs: number | undefined;
  /** The proxy's own time: the duration without its waits for the service, a token, Redis and the caller. */
  readonly overheadMs: number;
  /** All waits for a token together. */
  readonly tokenWaitMs?: number | undefined;
  /** Until a connection to the service was ready, all attempts together. */
  readonly connectMs?: number | undefined;
  /** The caller's name in the configuration, if callers have names. */
  readonly callerName?: string | undefined;
  /** `<site>/<name>` of the credential set whose token was attached last. */
  readonly credential?: string | undefined;
  /** The result of checking the caller's own signature, if the site has it checked. */
  readonly callerSignature?: CallerSignatureResult | undefined;
  /** The result of its Countersign-Once. */
  readonly once?: OnceResult | undefined;
  /** Id of the first request with the same Countersign-Once. */
  readonly onceFirst?: string | undefined;
  /** The name of its key's claim in the store, if its outcome is unknown. Shown nowhere. */
  readonly onceName?: string | undefined;
  /** The answer's headers named in `log.upstreamHeaders`. */
  readonly upstreamHeaders?: Readonly<Record<string, string>> | undefined;
  /** The host of `Location`, if the service's answer is a redirect: it shows who answered. */
  readonly location?: string | undefined;
  /** The media type of the service's answer to an operation, if that is not JSON: a login or a maintenance page may have answered. */
  readonly contentType?: string | undefined;
}

const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);

/** Whether a request asks for no change (RFC 9110 section 9.2.1). */
export function isSafe({ method }: Pick<RequestFinished, "method">): boolean {
  return method !== undefined && safeMethods.has(method);
}

/**
 * Whether a request may have had an effect that nobody knows: an alarm counts it, and an operator looks it up. A safe request
 * has no effect, even if its outcome or that of its stream is unknown.
 */
export function hasUnknownEffect(event: Pick<RequestFinished, "outcome" | "method">): boolean {
  return event.outcome === "unknown" && !isSafe(event);
}

/**
 * Whether the service refused or failed a request: 4xx or 5xx. Of an order 3xx too, since no redirect is followed: a moved host,
 * a login or a firewall answered, and no order exists.
 * @param operationLabel a path is the prefix of a pass-through route
 */
export function isFailedByService(by: string | undefined, status: number, operationLabel: string | undefined): boolean {
  const isOrder = operationLabel !== undefined && !operationLabel.startsWith("/");
  return by === "service" && status >= (isOrder ? 300 : 400);
}

/** A person has looked for the effect of a request whose outcome was unknown. */
export interface OutcomeSettled {
  readonly kind: "outcome_settled";
  readonly environment: string;
  /** Absent if the request ended before its site was known. */
  readonly site: string | undefined;
  /** Of the request. */
  readonly requestId: string;
  readonly reference: string | undefined;
  /** Whether it took effect. */
  readonly found: boolean;
  readonly note: string | undefined;
  /**
   * What becomes of its Countersign-Once. `used`: a repetition gets 409. `free`: a repetition is sent. Absent without a key, and if
   * the key was gone.
   */
  readonly key: "used" | "free" | undefined;
}

/** The end of a callback: the access line of a listener for callbacks. */
export interface CallbackFinished extends Finished {
  readonly kind: "callback_finished";
  readonly listener: string;
  readonly form?: "json" | "form" | "query" | undefined;
  /** The identifier of a site that is not configured, if it has the form of one. */
  readonly unknownSite?: string | undefined;
  /** The result of the callback: a label of metrics, from a fixed list. */
  readonly result: CallbackResult;
  /** False if the store of replays failed, so that the application may get the callback twice. */
  readonly isGuarded?: boolean | undefined;
  /** From connecting to the end of the application's answer. */
  readonly applicationMs?: number | undefined;
}

/** Failures are over when none has come for so long, and so many have succeeded since. */
export const overAfterMs = 60_000;
export const overAfterSuccesses = 2;

/** Several requests of an environment, or its callbacks, failed, and these failures are over. Callers' mistakes do not count. */
export interface OutageEnded {
  readonly kind: "outage_ended";
  readonly environment: string;
  readonly what: "request" | "callback";
  /** From the first failure to the last. */
  readonly lastedMs: number;
  readonly failed: number;
  /** How many ended in that time. */
  readonly total: number;
}

/** Results of genuine callbacks that the application has not accepted: whatever their site, the next one may succeed. */
export const untaken: ReadonlySet<string> = new Set<CallbackResult>([
  "declined",
  "application_unreachable",
  "application_failed",
  "application_timeout",
  "replay_store_unavailable",
  "callback_too_old",
  "callback_too_early",
]);

/**
 * The site of which requests or callbacks must succeed until this failure is over; undefined: any.
 * @param what the failure's code, the result of a callback, or the status
 * @param site undefined or `none` before it was known
 */
export function siteToSucceed(what: string, site: string | undefined): string | undefined {
  return site === "none" || untaken.has(what) ? undefined : site;
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
 * `parameter_missing`: version, site_identifier, timestamp or signature. `key_missing`: the site has no key of the callback's
 * version. `timestamp_invalid`: the timestamp is not in Unix seconds.
 */
export type ForgeryReason = (typeof forgeryReasons)[number];

/**
 * `delivered`: the application answered 2xx. `declined`: it gave another answer. `repeated`: it had answered 2xx to the same
 * callback before, and did not get it again. The others: why the application did not get the callback, or gave no answer.
 */
export type CallbackResult = "delivered" | "declined" | "repeated" | ForgeryReason | FailureCode;

/** The service answered 401 (spec 5.4). */
interface UpstreamUnauthorized {
  readonly kind: "upstream_unauthorized";
  readonly environment: string;
  readonly site: string;
  /** The service's origin. */
  readonly server: string;
  readonly auth: AuthMethod;
  readonly attempt: 1 | 2;
  readonly credential: string | undefined;
  readonly requestId: string;
  readonly reference: string | undefined;
  /** The answer's headers named in `log.upstreamHeaders`: the service's own correlation identifiers. */
  readonly upstreamHeaders: Readonly<Record<string, string>>;
}

/** Our wall clock compared with the service's Date header, at each answer that has one. */
interface ClockSkewMeasured {
  readonly kind: "clock_skew_measured";
  readonly environment: string;
  /** Our clock minus the service's. */
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

/** An event that may repeat: the log has it once a minute. */
interface Repeating {
  /** The first of its kind for a minute. */
  readonly isFirst: boolean;
}

/** The result of one request to the authorization server. */
export type TokenResult = "issued" | "refused" | "throttled" | "failed" | "timed_out" | "malformed";

export const tunnelResults = ["opened", "unauthorized", "refused", "malformed", "timed_out", "failed"] as const;
/**
 * The result of one CONNECT. `unauthorized`: 407. `refused`: another status than 2xx. `malformed`: no answer in HTTP/1.1.
 * `timed_out`: not within `timeouts.connect`. `failed`: no connection to the proxy, or it broke.
 */
export type TunnelResult = (typeof tunnelResults)[number];

/** A forward proxy was asked for a tunnel to a host of the environment. */
interface TunnelRequested extends Repeating {
  readonly kind: "tunnel_requested";
  readonly environment: string;
  /** `host:port` of the proxy. */
  readonly proxy: string;
  /** `host:port` at the other end of the tunnel. */
  readonly destination: string;
  readonly result: TunnelResult;
  /** Why there is no tunnel, e.g. `PROXY_STATUS_407`. */
  readonly cause?: string | undefined;
  /** From the attempt to connect to the proxy. */
  readonly durationMs: number;
}

/** Why a token was requested. */
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
      /** The origin of the token endpoint. */
      readonly server: string;
      readonly result: TokenResult;
      readonly reason: RefreshReason;
      readonly durationMs: number;
      /** The authorization server's status, when it answered. */
      readonly status: number | undefined;
      /**
       * Why the request brought no token: a code of the connection (`ECONNREFUSED`), the OAuth error code (RFC 6749 section
       * 5.2), or what is wrong with the answer.
       */
      readonly cause?: string | undefined;
      /** Why the request brought no token, and what to do: clauses for operators. */
      readonly detail?: string | undefined;
      readonly fix?: string | undefined;
      /** How long no further request is made; undefined without such a pause. */
      readonly pauseMs: number | undefined;
      /** Remaining life of the assertion from a file when it was sent, by its `exp`; negative if it had expired. */
      readonly assertionRemainingMs?: number | undefined;
      /** It failed without an answer in the first second after the start, and no request waits: the server may be starting too. */
      readonly isEarly?: true | undefined;
    }
  | {
      /** A token newly in use here, issued to this process or found in the shared cache. */
      readonly kind: "token_adopted";
      readonly environment: string;
      readonly credential: string;
      readonly issuedHere: boolean;
      readonly reason: RefreshReason;
      readonly lifetimeMs: number;
      /** The token's remaining life; its whole life if it was issued just now. */
      readonly remainingMs: number;
    }
  | {
      readonly kind: "token_lapsed";
      readonly environment: string;
      readonly credential: string;
      /** `changed`: a valid token is not used any more, since the set's settings are others now. `removed`: so is the set. */
      readonly reason: "expired" | "changed" | "removed";
    }
  | {
      /** Another set of a site is in use now. */
      readonly kind: "credential_switched";
      readonly environment: string;
      readonly site: string;
      readonly from: string;
      readonly to: string;
    }
  /** The set is not configured any more. */
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

/** The present state of one credential set, for gauges and /status. Times are on the monotonic clock. */
export interface CredentialSnapshot {
  readonly environment: string;
  /** `<site>/<name>`, as metrics and logs name it. */
  readonly credential: string;
  /** Its site uses this set now; none, while its token requests fail and no token is left. */
  readonly isActive: boolean;
  readonly token: TokenSnapshot | undefined;
  /** When its token was last attached to a request. */
  readonly lastUsedMs: number | undefined;
  /** No token request is made before this moment. */
  readonly backoffUntilMs: number | undefined;
  /** The pause of the address of its authorization server, which other sets may have caused. */
  readonly addressPausedUntilMs?: number | undefined;
  /** The last token request has failed, and no token is left. */
  readonly isInOutage: boolean;
}

/** A key for each credential set, the same at all its sites. */
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
  /** Why the token was requested. */
  readonly reason: RefreshReason;
}

/** Why the configuration was read again. */
export type ReloadTrigger = "sighup" | "file_change";

/** The look-up of a name was late or got no answer: a connection goes to the name's former address. */
export interface OldAddressUsed extends Repeating {
  readonly kind: "old_address_used";
  readonly host: string;
  /** `DNS_TIMEOUT`: the answer is late. `EAI_AGAIN`: no name server answered, or none was able to. */
  readonly cause: string;
  /** How long ago a name server returned that address. */
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
      /** Undefined without `status`. */
      readonly status: string | undefined;
    }
  | {
      /** A new warning: at the start every warning, at a reload those that were not there before. */
      readonly kind: "configuration_warned";
      /** Stable; `acknowledge` accepts it. */
      readonly code: string;
      readonly path: string;
      /** The problem, and its fix. */
      readonly message: string;
      /** Further warnings of this code, which get no line; `countersign check` prints them. */
      readonly more?: number | undefined;
    }
  /** A caller's TLS handshake failed at a listener with mTLS: its certificate or its TLS version was refused. */
  | (AtListener & { readonly kind: "handshake_failed" })
  /** A connection could not be accepted; `ENFILE`: the machine can open no more files. */
  | (AtListener & { readonly kind: "accept_failed" })
  | {
      /** Node warned of something in this process. */
      readonly kind: "process_warned";
      /** The warning's name, its code if it has one, and its stack frames, without the message, which may quote foreign text. */
      readonly warning: string;
    }
  | {
      /** Standard output accepts lines again, after its reader stalled or a disk was full. */
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
      /** What is wrong with the refused configuration, for people; no secret in it. The first of many. */
      readonly problems: readonly string[];
      /** How many there are in all. */
      readonly problemCount: number;
    }
  | (Omit<RefusedSiteFile, "problems"> & {
      /** A site's file was refused; all other sites are served. Once for each content. */
      readonly kind: "site_file_refused";
      readonly environment: string;
      /** For people. */
      readonly problems: readonly string[];
      /** Further files that were refused now, which get no line; `/status` and `countersign check` name them. */
      readonly more?: number | undefined;
    })
  | {
      /** Sites of a folder were added, removed or changed. */
      readonly kind: "sites_changed";
      readonly environment: string;
      readonly added: number;
      readonly changed: number;
      readonly removed: number;
      /** Their names, or the first of many. */
      readonly names: readonly string[];
    }
  /** The configuration was read again, and is the active one. */
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
  /** The collector has accepted spans. */
  | { readonly kind: "spans_exported"; readonly count: number }
  | (Repeating & {
      /** Spans that will not reach the collector. */
      readonly kind: "spans_lost";
      /** `dropped`: not sent, because too many waited or the exporter was closed. `rejected`: the collector refused them. */
      readonly result: "dropped" | "rejected";
      readonly count: number;
      /** `no room`, `the end`, or the collector's status. */
      readonly cause: string;
    })
  | (Repeating & {
      /** The collector accepted nothing now; the spans are sent again. */
      readonly kind: "spans_delayed";
      /** How many spans wait. */
      readonly waiting: number;
      /** A code of the connection, or the collector's status. */
      readonly cause: string;
      readonly pauseMs: number;
    });

/** How spans can end. */
export const spanResults = ["exported", "dropped", "rejected"] as const;

export const statusClasses = ["2xx", "3xx", "4xx", "5xx"] as const;

/** The class of an answer's status (RFC 9110 section 15): `5xx` of 502. Below 200, such as 101, or above 599 it is the nearest. */
export function statusClass(status: number): (typeof statusClasses)[number] {
  return statusClasses[Math.min(Math.max(Math.floor(status / 100), 2), 5) - 2] ?? "5xx";
}
