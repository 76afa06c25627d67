import { openCache } from "../../app/cache.ts";
import type { cacheResults, Report } from "../../model/events.ts";
import type { EndpointPause } from "../../oauth/shared-limits.ts";
import type { IssuedToken, StoredToken } from "../../oauth/token-store.ts";
import type { Run } from "./run.ts";

/** What replicas share about a set. */
export interface Shared {
  /** As in `token_cache_read`; `miss` with the cache in memory, which dies with its process. */
  readonly result: (typeof cacheResults)[number];
  readonly token: StoredToken | undefined;
  /** How long the authorization server is left alone, as its last answer asks for. */
  readonly pause: EndpointPause | undefined;
}

/** The cache as `serve` sees it. */
export interface TokenShelf {
  /** One at a time. */
  read(key: string): Promise<Shared>;
  /** Whether it is there for others from now on. */
  keep(key: string, token: IssuedToken, ageMs: number): Promise<boolean>;
  close(): Promise<void>;
}

export async function openTokenShelf({ config, clock }: Run): Promise<TokenShelf> {
  let last: Shared["result"] = "miss";
  const report: Report = (event) => {
    if (event.kind === "token_cache_read") last = event.result;
  };
  const cache = await openCache(config, report, { clock, random: Math.random, report });
  const { store } = cache;
  return {
    async read(key) {
      const { token, limits } = await store.read(key);
      return { result: last, token, pause: limits?.endpoint };
    },
    async keep(key, token, ageMs) {
      if (config.tokens.cache === "memory") return false;
      await store.save(key, token, ageMs);
      return (await store.read(key)).token !== undefined;
    },
    close: () => cache.close(),
  };
}
