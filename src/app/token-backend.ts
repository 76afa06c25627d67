import { createMemoryReplayStore } from "../adapters/memory/replay-store.ts";
import { createMemoryRefreshLock, createMemoryTokenStore } from "../adapters/memory/token-store.ts";
import type { ReplayStore } from "../callbacks/replay-store.ts";
import type { Config } from "../config/config.ts";
import { fingerprintOf } from "../config/hash.ts";
import type { Event, Report } from "../model/events.ts";
import type { RedisSnapshot } from "../model/redis-access.ts";
import type { RefreshLock, TokenStore } from "../oauth/token-store.ts";
import type { OnceStore } from "../proxy/once-store.ts";
import type { Dependencies } from "./dependencies.ts";
import { KeyedResources, type Reloadable } from "./keyed-resources.ts";

/** Where tokens are kept, and which callbacks were delivered: in Redis, which replicas share, or in this process. */
export interface TokenBackend {
  readonly store: TokenStore;
  readonly lock: RefreshLock;
  readonly replays: ReplayStore;
  /** Undefined where one process keeps all for itself: it would forget when it ends. */
  readonly once: OnceStore | undefined;
  /** Calls the listener whenever the store is back after it was away. */
  onReturn(listener: () => void): void;
  /** Its servers at this moment; none where one process keeps all for itself. */
  snapshot(): readonly RedisSnapshot[];
  close(): Promise<void>;
}

export async function openTokenBackend(
  { tokens }: Config,
  report: Report,
  dependencies: Dependencies,
): Promise<TokenBackend> {
  if (tokens.cache === "redis") {
    // Without Redis, its packages are never loaded.
    const { openRedisBackend } = await import("./redis-backend.ts");
    return openRedisBackend(tokens.redis, report, dependencies);
  }
  const store = createMemoryTokenStore(dependencies.clock);
  const replays = createMemoryReplayStore(dependencies.clock);
  const lock = createMemoryRefreshLock();
  return { store, lock, replays, once: undefined, onReturn() {}, snapshot: () => [], async close() {} };
}

/** The Redis servers in use, as events and metrics name them: `cache`, and `lock-2`, … for further masters of the lock. */
export function redisNodes({ tokens }: Config): readonly string[] {
  return tokens.cache === "redis" ? ["cache", ...tokens.redis.lockNodes.map((_, index) => `lock-${index + 2}`)] : [];
}

/** The backend of each configuration; those that agree in it share it. */
export interface TokenBackends extends Reloadable {
  /** @throws Error where the configuration was not prepared, or has ended */
  of(config: Config): TokenBackend;
  /** Which callbacks were delivered, as this configuration's backend has it at each call. */
  replaysOf(config: Config): ReplayStore;
  /** Which keys requests have used; undefined where this configuration has no Redis. */
  onceOf(config: Config): OnceStore | undefined;
  /** The Redis servers of a configuration at this moment. */
  redis(config: Config): readonly RedisSnapshot[];
  close(): Promise<void>;
}

/** A fetch that began with another backend still saves and unlocks there. */
const fetchLingerMs = 20_000;
/** A request ends by its deadline, and its end is written right after that. */
const lateMs = 1_000;

/** @param onReturn called whenever a store is back after it was away */
export function openTokenBackends(report: Report, dependencies: Dependencies, onReturn: () => void): TokenBackends {
  const backends = new KeyedResources<OpenBackend>(dependencies.clock, { close: (backend) => backend.close() });

  function of(config: Config): OpenBackend {
    const backend = backends.get(keyOf(config));
    if (backend === undefined) throw new Error("the backend of this configuration is not prepared, or has ended");
    return backend;
  }

  async function open(config: Config): Promise<OpenBackend> {
    const state = new StateReport(report, serverOf);
    const backend = await openTokenBackend(config, state.report, dependencies);
    backend.onReturn(onReturn);
    return { ...backend, state };
  }

  return {
    of,

    async prepare(config) {
      const key = keyOf(config);
      const backend = backends.get(key) ?? (await open(config));
      // A request that began with another backend still says there how it ended.
      const lingerMs = Math.max(fetchLingerMs, config.timeouts.requestMs + lateMs);
      backends.prepare(key, () => backend, lingerMs);
    },

    commit(config) {
      const active = keyOf(config);
      backends.commit([active]);
      for (const [key, { state }] of backends.entries()) state.isActive = key === active;
    },

    replaysOf(config) {
      const current = () => of(config).replays;
      return {
        claim: async (...given) => current().claim(...given),
        confirm: async (...given) => current().confirm(...given),
        release: async (...given) => current().release(...given),
      };
    },

    onceOf(config) {
      if (config.tokens.cache === "memory") return undefined;
      const current = () => {
        const { once } = of(config);
        if (once === undefined) throw new Error("a backend over Redis remembers keys");
        return once;
      };
      return {
        claim: async (...given) => current().claim(...given),
        recordEnd: async (...given) => current().recordEnd(...given),
      };
    },

    redis: (config) => backends.get(keyOf(config))?.snapshot() ?? [],

    close: () => backends.close(),
  };
}

interface OpenBackend extends TokenBackend {
  /** Of its servers. */
  readonly state: StateReport;
}

/** The server whose state an event tells. */
function serverOf(event: Event): string | undefined {
  return event.kind === "redis_up" || event.kind === "redis_down" ? event.node : undefined;
}

function keyOf({ tokens }: Config): string {
  return fingerprintOf(tokens);
}

/**
 * Reports what one part says of its own state while it is active. What it said last is repeated when it becomes active: a
 * part that is being prepared, or was left, may have the name of another one. Events about no state always pass.
 */
export class StateReport {
  readonly #report: Report;
  readonly #subjectOf: (event: Event) => string | undefined;
  readonly #latest = new Map<string, Event>();
  #isActive = false;

  /** @param subjectOf what an event tells the state of; undefined where it tells none */
  constructor(report: Report, subjectOf: (event: Event) => string | undefined) {
    this.#report = report;
    this.#subjectOf = subjectOf;
  }

  readonly report: Report = (event) => {
    const subject = this.#subjectOf(event);
    if (subject !== undefined) this.#latest.set(subject, event);
    if (subject === undefined || this.#isActive) this.#report(event);
  };

  set isActive(isActive: boolean) {
    if (isActive && !this.#isActive) for (const event of this.#latest.values()) this.#report(event);
    this.#isActive = isActive;
  }
}
