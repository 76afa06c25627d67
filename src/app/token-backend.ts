import { createMemoryClaimRecords } from "../adapters/memory/claim-records.ts";
import { createMemoryRefreshLock, createMemoryTokenStore } from "../adapters/memory/token-store.ts";
import { type ClaimStore, Claims } from "../claims/claim.ts";
import type { Config } from "../config/config.ts";
import { fingerprintOf } from "../config/hash.ts";
import type { Report } from "../model/events.ts";
import { describeRedisServers, type RedisSnapshot } from "../model/redis-access.ts";
import type { RefreshLock, TokenStore } from "../oauth/token-store.ts";
import type { Dependencies } from "./dependencies.ts";
import { KeyedResources } from "./keyed-resources.ts";

/** The stores of tokens and claims: in Redis, which replicas share, or in this process. */
interface TokenBackend {
  readonly store: TokenStore;
  readonly lock: RefreshLock;
  /** Claims of once keys and of callbacks. */
  readonly claims: ClaimStore & Pick<Claims, "unwritten">;
  /** The present state of its Redis servers; empty without Redis. */
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
  const claims = new Claims(createMemoryClaimRecords(dependencies.clock), dependencies.clock);
  const lock = createMemoryRefreshLock();
  return { store, lock, claims, snapshot: () => [], close: () => claims.close() };
}

/** The Redis servers in use, as events and metrics name them. */
export function redisNodes({ tokens }: Config): readonly string[] {
  return serversOf(tokens).map(({ node }) => node);
}

function serversOf(tokens: Config["tokens"]) {
  return tokens.cache === "memory" ? [] : describeRedisServers(tokens.redis);
}

const unknown = { isUp: undefined, sinceMs: undefined, failure: undefined, cause: undefined };

/** The end of a request is written right after its deadline at the latest; a token is saved right after its request. */
const lateMs = 2_000;

/**
 * The backend of each configuration; configurations with the same settings share it.
 * @param onReturn called whenever the store answers again after an outage
 */
export function openTokenBackends(report: Report, dependencies: Dependencies, onReturn: () => void) {
  const backends = new KeyedResources<OpenBackend>(dependencies.clock, { close: (backend) => backend.close() });
  const keyOf = ({ tokens }: Config) => fingerprintOf(tokens);

  function of(config: Config): OpenBackend {
    const backend = backends.get(keyOf(config));
    if (backend === undefined) throw new Error("the backend of this configuration is not prepared, or has ended");
    return backend;
  }

  async function open(config: Config): Promise<OpenBackend> {
    const use = { isLeft: false };
    const reportOfUsed: Report = (event) => {
      const isOfState = event.kind === "redis_up" || event.kind === "redis_down";
      if (use.isLeft && isOfState) return;
      report(event);
      if (event.kind === "redis_up" && event.node === "cache" && event.awayMs !== undefined) onReturn();
    };
    return { ...(await openTokenBackend(config, reportOfUsed, dependencies)), use };
  }

  return {
    /** @throws Error if the backend of the configuration was not prepared, or has ended */
    of,

    async prepare(config: Config): Promise<void> {
      const key = keyOf(config);
      const backend = backends.get(key) ?? (await open(config));
      // Work that began with a former backend still records its end and unlocks there.
      const lingerMs = Math.max(config.timeouts.requestMs, config.timeouts.tokenMs) + lateMs;
      backends.prepare(config, key, () => backend, lingerMs);
    },

    commit(config: Config): void {
      backends.commit(config);
      const active = of(config);
      for (const backend of backends.values()) backend.use.isLeft = backend !== active;
    },

    /** The claims of this configuration's backend, looked up at each call. */
    claimsOf: (config: Config): ClaimStore => ({
      open: (terms) => of(config).claims.open(terms),
      find: (key) => of(config).claims.find(key),
      decide: (terms, decide) => of(config).claims.decide(terms, decide),
    }),

    /** The present state of a configuration's Redis servers; unknown before the configuration is prepared. */
    redis: (config: Config): readonly RedisSnapshot[] =>
      backends.get(keyOf(config))?.snapshot() ?? serversOf(config.tokens).map((server) => ({ ...server, ...unknown })),

    /** Results of claims that no backend has taken; of former configurations too. */
    unwritten: () => [...backends.values()].reduce((sum, { claims }) => sum + claims.unwritten, 0),

    close: () => backends.close(),
  };
}

interface OpenBackend extends TokenBackend {
  /** `isLeft`: no longer of the active configuration. A new server may have its name, so its outages are not reported. */
  readonly use: { isLeft: boolean };
}
