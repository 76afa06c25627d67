import type { Environment } from "../../model/environment.ts";
import type { CredentialSnapshot } from "../../model/events.ts";
import type { Caller, CallersTls } from "../../model/listener.ts";
import type { RedisSnapshot } from "../../model/redis-access.ts";
import type { TokenEndpoint } from "../../oauth/token-endpoint.ts";

/** The parts of a configuration for which series are started, or that are shown. */
export interface Configured {
  readonly hash: string;
  /** The address of the documentation's site, if the configuration has one. */
  readonly docsUrl?: string | undefined;
  readonly environments: readonly Environment[];
  readonly listeners: readonly {
    /** The configured address. Several listeners with port 0 have the same. */
    readonly name: string;
    readonly environment: string;
    /** With mTLS: its own certificate, and the authorities of its callers. */
    readonly tls: CallersTls | undefined;
  }[];
  /** Named callers, once for each listener, in the configuration's order. */
  readonly callers: readonly (Caller & { readonly environment: string; readonly listener: string })[];
  readonly callbacks: readonly CallbackPlace[];
  /** The Redis servers, as in RedisEvent; none with the memory cache. */
  readonly redisNodes: readonly string[];
  readonly limits: { readonly inFlightPerEnvironment: number; readonly connections: number };
  readonly isTraced: boolean;
  /** Whether metrics name single sites, and their credential sets. */
  readonly namesSites: boolean;
}

/** Where callbacks come in, and the URL of the application that they go to. */
export interface CallbackPlace {
  readonly environment: string;
  readonly listener: string;
  readonly application: string;
}

/** What gauges and `/status` read: the active configuration, and the present state of the process. */
export interface Source {
  configured(): Configured;
  /** Where each listener leads, one line each. */
  routes(): readonly string[];
  /** Requests being served, by environment; of former configurations too. */
  inFlight(): ReadonlyMap<string, number>;
  /** Open connections, one entry for each listener. */
  connections(): readonly { readonly listener: string; readonly open: number }[];
  buffers(): { readonly usedBytes: number; readonly limitBytes: number };
  /** Each set once. */
  credentials(): readonly CredentialSnapshot[];
  redis(): readonly RedisSnapshot[];
  /** Results of requests with Countersign-Once and of guarded callbacks that the store has not taken. */
  unwritten(): number;
  /** Reads an assertion, as for a token request. */
  readonly readAssertion: TokenEndpoint["readAssertion"];
  /** Since when the configuration is active, and whether the files now hold another one that was refused. */
  reload(): {
    readonly inForceSince: string | undefined;
    readonly lastRefused: { readonly isPending: boolean } | undefined;
  };
  droppedLogLines(): number;
  /** Wall-clock time in milliseconds of a moment on the monotonic clock. */
  wallTime(monotonicMs: number): number;
}
