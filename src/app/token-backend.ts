import { createMemoryRefreshLock } from "../adapters/memory/refresh-lock.ts";
import { createMemoryTokenStore } from "../adapters/memory/token-store.ts";
import type { Config } from "../config/config.ts";
import type { Event, Report } from "../model/events.ts";
import type { RedisSnapshot } from "../model/redis-access.ts";
import type { RefreshLock } from "../oauth/refresh-lock.ts";
import type { TokenStore } from "../oauth/token-store.ts";
import type { Dependencies } from "./dependencies.ts";

/** Where tokens are kept: in Redis, which replicas share, or in this process. */
export interface TokenBackend {
  readonly store: TokenStore;
  readonly lock: RefreshLock;
  /** Which of its servers answer. */
  readonly state: StateReport;
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
  const state = new StateReport(report, nodeOf);
  if (tokens.cache === "redis") {
    // Without Redis, its packages are never loaded.
    const { openRedisBackend } = await import("./redis-backend.ts");
    return { state, ...openRedisBackend(tokens.redis, state.report, dependencies) };
  }
  const store = createMemoryTokenStore(dependencies.clock);
  return { store, lock: createMemoryRefreshLock(), state, onReturn() {}, snapshot: () => [], async close() {} };
}

/** The Redis servers in use, as events and metrics name them: `cache`, and `lock-2`, … for further masters of the lock. */
export function redisNodes({ tokens }: Config): readonly string[] {
  return tokens.cache === "redis" ? ["cache", ...tokens.redis.lockNodes.map((_, index) => `lock-${index + 2}`)] : [];
}

/** The server whose state an event is about. */
function nodeOf(event: Event): string | undefined {
  return event.kind === "redis_up" || event.kind === "redis_down" ? event.node : undefined;
}

/**
 * Reports what one part says of its own state while it is active; what it said last is repeated when it becomes active.
 * Parts of two configurations may have one name. Events that say nothing of a state pass at any time.
 */
export class StateReport {
  readonly #report: Report;
  readonly #aspectOf: (event: Event) => string | undefined;
  readonly #latest = new Map<string, Event>();
  #isActive = false;

  /** @param aspectOf the aspect of the state that an event is about, if any */
  constructor(report: Report, aspectOf: (event: Event) => string | undefined) {
    this.#report = report;
    this.#aspectOf = aspectOf;
  }

  readonly report: Report = (event) => {
    const aspect = this.#aspectOf(event);
    if (aspect !== undefined) this.#latest.set(aspect, event);
    if (aspect === undefined || this.#isActive) this.#report(event);
  };

  get isActive(): boolean {
    return this.#isActive;
  }

  set isActive(isActive: boolean) {
    if (isActive && !this.#isActive) for (const event of this.#latest.values()) this.#report(event);
    this.#isActive = isActive;
  }
}
