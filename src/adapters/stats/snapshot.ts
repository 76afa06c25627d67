import type { CredentialSnapshot, TokenSnapshot } from "../../model/credential-snapshot.ts";
import type { Site } from "../../model/environment.ts";
import type { CallbackFinished, ReloadTrigger, RequestFinished, StatusClass, TokenEvent } from "../../model/events.ts";
import type { Caller } from "../../model/listener.ts";
import type { RedisSnapshot } from "../../model/redis-access.ts";

/**
 * What `/status` shows as JSON and `/` as a page: one object, so that they never disagree. Times are ISO 8601 by this
 * process's wall clock. Nothing in it is secret.
 */
export interface StatusSnapshot extends ModelView {
  /** When it was taken. */
  readonly at: string;
  readonly version: string;
  /** Of Node.js. */
  readonly runtime: string;
  /** Which replica this is: in Kubernetes, the pod's name. */
  readonly host: string;
  readonly startedAt: string;
  readonly configHash: string;
  readonly readiness: { readonly isReady: boolean; readonly reason: string };
  /** The effective configuration, secrets masked. */
  readonly configuration: object;
}

/** What the status model knows, beside what is so for the life of the process. */
export interface ModelView {
  readonly requests: RequestTotals;
  /** Newest first; the last 100. */
  readonly unknownOutcomes: readonly UnknownOutcome[];
  readonly environments: readonly EnvironmentStatus[];
  /** One for each listener for callbacks. */
  readonly callbacks: readonly CallbackStatus[];
  readonly credentials: readonly CredentialStatus[];
  /** Those that have names, in the configuration's order; absent where there are none. */
  readonly callers?: readonly CallerStatus[] | undefined;
  /** One for each Redis server in use; none with the memory cache. */
  readonly redis: readonly RedisStatus[];
  readonly reload: ReloadStatus;
}

/** Since the start, whatever was configured in the meantime. */
export interface RequestTotals {
  readonly inFlight: number;
  readonly answeredBy: Readonly<Record<"service" | "countersign", number>>;
  readonly unknownOutcomes: number;
  /** By code. */
  readonly failures: Readonly<Record<string, number>>;
}

/** A request that is not safe, and whose effect is not known: an operator looks it up before the order is sent again. */
export interface UnknownOutcome
  extends Pick<
    RequestFinished,
    "environment" | "site" | "operation" | "caller" | "reference" | "requestId" | "code" | "stage"
  > {
  readonly at: string;
  /** Of an answer that was passed on whole, where the environment calls its status undecided. */
  readonly status: number | undefined;
}

export interface EnvironmentStatus {
  readonly name: string;
  readonly baseUrl: string;
  /** Undefined where every site signs. */
  readonly authUrl: string | undefined;
  /** Token endpoints that sets have of their own (`token.url`). */
  readonly tokenUrls?: readonly string[] | undefined;
  readonly operations: readonly string[];
  readonly defaultSite: string | undefined;
  readonly sites: readonly SiteStatus[];
  /** Since the start. */
  readonly answers: AnswerCounts;
  readonly recent: RecentTraffic;
  /** Undefined while every site has a token or has not asked for one. */
  readonly tokenOutage: TokenOutage | undefined;
  /** Requests that ended before their site was known. */
  readonly withoutSite: Tally;
}

/** Answers by who gave them and by class of status. */
export type AnswerCounts = Readonly<Record<"service" | "countersign", Readonly<Partial<Record<StatusClass, number>>>>>;

/** An environment's traffic of the last minutes. */
export interface RecentTraffic {
  /** How far it looks back. */
  readonly seconds: number;
  readonly requests: number;
  /** Since the first of these requests ended. */
  readonly perSecond: number;
  /** Half of the requests took no longer than this bound; undefined without any, or above the last bound of 30 s. */
  readonly medianMs: number | undefined;
  readonly p95Ms: number | undefined;
  /** The commonest first. */
  readonly failures: readonly RecentFailure[];
  /** Ten seconds each, the oldest first; the last one still goes on. */
  readonly steps: readonly RecentStep[];
}

/** Requests that did not succeed, of one kind. */
export interface RecentFailure {
  readonly by: "service" | "countersign";
  /** The failure's code, or the status of the answer where it has none. */
  readonly what: string;
  readonly count: number;
}

/** How many requests of a step succeeded (2xx or 3xx of the service), failed, or may have had an effect. */
export interface RecentStep {
  readonly succeeded: number;
  readonly failed: number;
  readonly unknown: number;
}

/** Sites that have no token, and get none. */
export interface TokenOutage {
  readonly sites: readonly string[];
  readonly since: string | undefined;
  readonly lastRequest: TokenRequestStatus | undefined;
  /** The earliest, while the authorization server is left alone. */
  readonly nextTryAt: string | undefined;
}

export interface SiteStatus extends Pick<Site, "identifier" | "parent" | "auth"> {
  /** Labels of the credential sets that it uses. */
  readonly credentials: readonly string[];
  readonly tally: Tally;
}

/** How often, and when last. */
export interface Occurrence {
  readonly count: number;
  readonly lastAt: string;
}

/** Requests by their end. */
export interface Tally {
  readonly answeredBy: Readonly<Record<"service" | "countersign", number>>;
  readonly lastAt: string | undefined;
  /** By failure code. */
  readonly failures: Readonly<Record<string, Occurrence>>;
  /** The service's answers of 4xx and 5xx that were passed on to callers, by status. */
  readonly refusals: Readonly<Record<string, Occurrence>>;
}

/** What came of the callbacks of one listener since the start. */
export interface CallbackStatus {
  readonly environment: string;
  /** As configured. */
  readonly listener: string;
  /** The URL of the application. */
  readonly application: string;
  /** By CallbackResult. */
  readonly results: Readonly<Record<string, Occurrence>>;
  /** Those that the application may get twice, since the store of replays failed. */
  readonly unguarded: number;
  /** The last that was neither delivered nor repeated. */
  readonly lastFailure: CallbackFailureStatus | undefined;
}

/** A callback that the application has not taken; `cause` where it says more than the result. Nothing of its content. */
export interface CallbackFailureStatus
  extends Pick<CallbackFinished, "result" | "status" | "cause" | "site" | "requestId"> {
  readonly at: string;
}

/** A caller at a listener: what it may do, and what it did. */
export interface CallerStatus extends Pick<Caller, "name" | "requestsPerSecond"> {
  readonly environment: string;
  readonly listener: string;
  /** What proves it; never the proof itself. */
  readonly by: "token" | "certificate";
  /** `["*"]`: all of the environment. */
  readonly sites: readonly string[];
  readonly operations: readonly string[];
  readonly tally: Tally;
}

/** A credential set: its token now, and what came of asking for tokens. */
export interface CredentialStatus extends Pick<CredentialSnapshot, "environment" | "credential" | "isActive"> {
  readonly token: TokenStatus | "none";
  readonly lastUsedAt: string | undefined;
  /** Requests to the authorization server, by result. */
  readonly requests: Readonly<Record<string, Occurrence>>;
  readonly lastRequest: TokenRequestStatus | undefined;
  /** When the first of the requests failed that have failed in a row; undefined while none has. */
  readonly failingSince: string | undefined;
  /** When the authorization server is asked again, while it is left alone. */
  readonly nextTryAt: string | undefined;
}

export interface TokenStatus extends Omit<TokenSnapshot, "expiresAtMs"> {
  readonly issuedAt: string;
  readonly expiresAt: string;
  /** By the monotonic clock, so that a wall clock that was set does not matter. */
  readonly remainingMs: number;
}

export interface TokenRequestStatus
  extends Pick<Extract<TokenEvent, { kind: "token_requested" }>, "result" | "reason" | "status" | "cause"> {
  readonly at: string;
}

export interface RedisStatus extends Omit<RedisSnapshot, "sinceMs"> {
  readonly since: string | undefined;
}

/** Since when the configuration is active and why, and the last one that was refused. */
export interface ReloadStatus {
  readonly inForceSince: string | undefined;
  readonly trigger: "start" | ReloadTrigger;
  /** Where each listener leads, one line each. */
  readonly routes: readonly string[];
  readonly lastRefused: RefusedReload | undefined;
}

export interface RefusedReload {
  readonly at: string;
  readonly trigger: ReloadTrigger;
  /** The first of them. */
  readonly problems: readonly string[];
  readonly problemCount: number;
  /** Whether what was refused is still what would be loaded: nothing has been applied or found unchanged since. */
  readonly isPending: boolean;
}

/** As `/status` shows times: ISO 8601 in UTC, as the log has them. */
export function formatTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
