import type { Address, Environment, Tls } from "../model/environment.ts";
import type { Bind, Callers, CallersTls } from "../model/listener.ts";
import type { RedisAccess } from "../model/redis-access.ts";
import type { Secret } from "../model/secret.ts";
import type { RawCallbackListener, RawListener } from "./form/listeners.ts";
import type { RawConfig, RawTracing } from "./form/schema.ts";

type Frozen<Value> = Value extends object ? { readonly [Name in keyof Value]: Frozen<Value[Name]> } : Value;
/** Settings as read; the schema describes them. */
type Written<Section, Setting extends keyof Section> = Frozen<Pick<Section, Setting>>;

/** A listener for applications; everything that arrives on it belongs to one environment. */
export interface ListenerConfig extends Written<RawListener, "bind" | "environment" | "hosts"> {
  /** Undefined on loopback or a Unix socket, where every caller is accepted. */
  readonly callers?: Callers | undefined;
}

/** A listener for the service's callbacks of one environment. */
export interface CallbackListenerConfig extends Written<RawCallbackListener, "bind" | "environment"> {
  readonly replay: "strict" | "best_effort";
  readonly application: { readonly url: Address; readonly timeoutMs: number; readonly tls: Tls };
  /** Always holds `signature`. */
  readonly exempt: ReadonlySet<string>;
  readonly rememberMs: number;
  /** Present if callers prove themselves with a certificate. */
  readonly tls?: CallersTls | undefined;
}

/** The configuration, checked in full, with its defaults and loaded secrets. Durations in ms. */
export interface Config extends Written<RawConfig, "log" | "readiness" | "acknowledge"> {
  readonly listeners: readonly ListenerConfig[];
  readonly callbacks: readonly CallbackListenerConfig[];
  /** /livez, /readyz, /metrics. */
  readonly admin: Bind;
  readonly adminHosts: readonly string[];
  /** /status. Absent: there is no such port. */
  readonly status?: Bind | undefined;
  readonly environments: ReadonlyMap<string, Environment>;
  readonly tokens: TokensConfig;
  /** The header for keys of Countersign-Once, and how long they are remembered. Absent: `defaultOnce`. */
  readonly once?: OnceConfig | undefined;
  readonly timeouts: { readonly requestMs: number; readonly connectMs: number; readonly tokenMs: number };
  readonly limits: Frozen<RawConfig["limits"]> & {
    /** Most connections that a listener accepts; set if the process has too few descriptors for twice `connections`. */
    readonly acceptedConnections?: number | undefined;
  };
  /** Absent: nothing is traced. */
  readonly tracing?: TracingConfig | undefined;
  readonly metrics: { readonly sites: "named" | "none" };
  readonly reload: { readonly unreadyAfterRefusalMs: number | undefined };
  readonly drain: { readonly minMs: number };
  /** Address of the documentation's web site; absent: failures have no links into it. */
  readonly docsUrl?: string | undefined;
  /** SHA-256 over the effective configuration, secrets by fingerprint; the first 12 hex digits. */
  readonly hash: string;
  /** The file's content, with every default and every inherited setting of sites. Absent if no file was read. */
  readonly written?: RawConfig | undefined;
  /** All secrets that the active configuration names. Absent if no file was read. */
  readonly secrets?: () => readonly Secret[];
}

/** Where tokens are kept: in each process, or in the Redis that replicas share. */
export type TokensConfig = { readonly cache: "memory" } | { readonly cache: "redis"; readonly redis: RedisAccess };

/** Where spans go, and which requests have them. */
export interface TracingConfig
  extends Written<RawTracing, "sampleRatio" | "serviceName" | "resource" | "propagate">,
    Written<RawTracing["otlp"], "endpoint"> {
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, Secret>;
  readonly tls: Tls;
}

export interface OnceConfig extends Written<NonNullable<RawConfig["once"]>, "header"> {
  readonly ttlMs: number;
  readonly waitMs: number;
}

export const defaultOnce: OnceConfig = { ttlMs: 86_400_000, waitMs: 1_000, header: "Countersign-Once" };
