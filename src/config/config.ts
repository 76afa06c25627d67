import type { Address, Environment, Tls } from "../model/environment.ts";
import type { Bind, Callers, CallersTls } from "../model/listener.ts";
import type { RedisAccess } from "../model/redis-access.ts";
import type { Secret } from "../model/secret.ts";
import type { WarningCode } from "./diagnostics.ts";

/** A listener for applications; everything that arrives on it belongs to one environment. */
export interface ListenerConfig {
  readonly bind: Bind;
  /** A key of `environments`. */
  readonly environment: string;
  /** Host names accepted beside the loopback names, the bind address and the baseUrl's host; lower case. */
  readonly hosts: readonly string[];
  /** Undefined on loopback or a Unix socket, where every caller is accepted. */
  readonly callers?: Callers | undefined;
}

/** A listener for the service's callbacks of one environment. */
export interface CallbackListenerConfig {
  readonly bind: Bind;
  /** A key of `environments`. */
  readonly environment: string;
  /** Where genuine callbacks go. */
  readonly application: { readonly url: Address; readonly timeoutMs: number; readonly tls: Tls };
  /** Names that are not signed; always holds `signature`. */
  readonly exempt: ReadonlySet<string>;
  readonly windowMs: number;
  /** What happens while the store of replays fails or is full. */
  readonly replay: ReplayMode;
  /** Present where callers prove themselves with a certificate. */
  readonly tls?: CallersTls | undefined;
}

/** `strict`: no callback passes. `best_effort`: it passes, and is counted. */
export type ReplayMode = "strict" | "best_effort";

/** What the configuration file becomes: checked in full, defaults filled in, secrets loaded. Durations in ms. */
export interface Config {
  readonly listeners: readonly ListenerConfig[];
  /** Absent where there are none. */
  readonly callbacks?: readonly CallbackListenerConfig[];
  /** /livez, /readyz, /metrics. */
  readonly admin: Bind;
  /** Host names under which /metrics is shown, beside addresses, localhost and the machine's own; lower case. */
  readonly adminHosts?: readonly string[];
  /** /status. */
  readonly status: Bind;
  readonly environments: ReadonlyMap<string, Environment>;
  readonly tokens: TokensConfig;
  /** How long keys of Countersign-Once are remembered. Absent: `defaultOnce`. */
  readonly once?: OnceConfig | undefined;
  readonly timeouts: { readonly requestMs: number; readonly connectMs: number; readonly tokenMs: number };
  readonly limits: {
    readonly inFlightPerEnvironment: number;
    readonly connections: number;
    /** Most connections that a listener accepts; set where the process has too few descriptors for twice `connections`. */
    readonly acceptedConnections?: number | undefined;
    readonly bodyBytes: number;
    /** Undefined: derived from the memory that the process may take. */
    readonly bufferedBytes?: number | undefined;
  };
  readonly log: { readonly level: LogLevel; readonly upstreamHeaders: readonly string[] };
  /** Absent where nothing is traced. */
  readonly tracing?: TracingConfig | undefined;
  /** What `/readyz` waits for. */
  readonly readiness: "listening" | "token";
  readonly reload: {
    /** How long the newest configuration may stay refused before `/readyz` fails; undefined: no limit. */
    readonly unreadyAfterRefusalMs: number | undefined;
  };
  readonly drain: { readonly minMs: number };
  /** Codes of warnings that the log leaves out. Absent where there are none. */
  readonly acknowledge?: readonly WarningCode[];
  /** SHA-256 over the effective configuration, secrets by fingerprint; the first 12 hex digits. */
  readonly hash: string;
  /** Where secrets came from, for people: `file /run/…` or `env NAME`. Absent where no file was read. */
  readonly secretOrigins?: ReadonlyMap<Secret, string>;
}

/** Where tokens are kept: in each process, or in the Redis that replicas share. */
export type TokensConfig = { readonly cache: "memory" } | { readonly cache: "redis"; readonly redis: RedisAccess };

/** Where spans go, and which requests have them. */
export interface TracingConfig {
  /** The collector's address, with its path. */
  readonly endpoint: Address;
  /** Headers of each export; names in lower case. */
  readonly headers: ReadonlyMap<string, Secret>;
  readonly tls: Tls;
  /** The share of traces beginning here that is recorded: 0 to 1. */
  readonly sampleRatio: number;
  readonly serviceName: string;
  /** Further attributes of all spans. */
  readonly resource: Readonly<Record<string, string>>;
  /** Which requests to the service carry `traceparent`. */
  readonly propagate: "callers" | "always" | "never";
}

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal";

export interface OnceConfig {
  readonly ttlMs: number;
}

export const defaultOnce: OnceConfig = { ttlMs: 86_400_000 };
