import type { Config } from "../config/config.ts";
import { fingerprint } from "../config/hash.ts";
import type { Environment } from "../environment.ts";
import type { Report } from "../events.ts";
import { CachedSource } from "../tokens/cached-source.ts";
import { Conduct } from "../tokens/conduct.ts";
import type { Member } from "../tokens/credentials.ts";
import type { PostForm } from "../tokens/endpoint.ts";
import { drawThresholds } from "../tokens/token.ts";
import { Unauthorized } from "../tokens/unauthorized.ts";
import { openCache } from "./cache.ts";
import { Shelf } from "./shelf.ts";
import type { Surroundings } from "./surroundings.ts";
import type { TokenCache } from "./token-cache.ts";
import type { PlacedSet, TokenOwner } from "./token-owners.ts";

/** A fetch that began with another cache still saves and unlocks there. */
const cacheLingerMs = 20_000;

export interface SetSourceParts {
  readonly postFormOf: (environment: Environment) => PostForm;
  readonly report: Report;
  readonly surroundings: Surroundings;
}

/** One source for each credential set, over the cache that the configuration wants. */
export class SetSources {
  readonly #parts: SetSourceParts;
  readonly #thresholds;
  readonly #caches = new Shelf<TokenCache>();
  readonly #leaving = new Set<TokenCache>();
  readonly #members = new Shelf<Member & { readonly tokenKey: string }>();
  /** They outlive a change of the ways to the login host, or a reload would end every pause. */
  readonly #manners = new Shelf<{ readonly conduct: Conduct; readonly unauthorized: Unauthorized }>();

  constructor(parts: SetSourceParts) {
    this.#parts = parts;
    this.#thresholds = drawThresholds(parts.surroundings.random);
  }

  async prepareCache(config: Config): Promise<void> {
    if (this.#caches.find(keyOf(config)) !== undefined) return;
    const cache = await openCache(config, this.#parts.report, this.#parts.surroundings);
    this.#caches.take(keyOf(config), () => cache);
    cache.onReturn(() => {
      for (const { source } of this.#members.all()) source.rejoin();
    });
  }

  /** A site's sets in order, over the cache that was prepared for this configuration. */
  of({ sets: [first, ...rest] }: TokenOwner, config: Config): readonly [Member, ...Member[]] {
    return [this.#open(first, config), ...rest.map((set) => this.#open(set, config))];
  }

  keepOnly(owners: readonly TokenOwner[], config: Config): void {
    const sets = owners.flatMap((owner) => owner.sets);
    for (const { source } of this.#members.keepOnly(sets.map(({ sourceKey }) => sourceKey))) source.close();
    this.#manners.keepOnly(sets.map(({ tokenKey }) => tokenKey));
    for (const cache of this.#caches.keepOnly([keyOf(config)])) this.#retire(cache);
    for (const cache of this.#caches.all()) cache.raiseVoice();
  }

  async close(): Promise<void> {
    for (const { source } of this.#members.all()) source.close();
    const caches = [...this.#caches.all(), ...this.#leaving];
    this.#leaving.clear();
    await Promise.all(caches.map((cache) => cache.close()));
  }

  #open({ environment, set, tokenKey, sourceKey }: PlacedSet, config: Config) {
    return this.#members.take(sourceKey, () => {
      const { postFormOf, report, surroundings } = this.#parts;
      const { clock, random } = surroundings;
      const cache = this.#caches.find(keyOf(config));
      if (cache === undefined) throw new Error("the cache of a configuration is prepared before its sets");
      const { store, lock } = cache;
      const towards = this.#manners.take(tokenKey, () => {
        return { conduct: new Conduct(clock, random), unauthorized: new Unauthorized(clock) };
      });
      const place = { environment: environment.name, set, key: tokenKey, store, lock, post: postFormOf(environment) };
      const source = new CachedSource({ ...place, ...towards, clock, random, report }, this.#thresholds);
      const predecessor = this.#members.all().find((other) => other.tokenKey === tokenKey);
      if (predecessor !== undefined) source.inherit(predecessor.source);
      return { set, source, tokenKey };
    });
  }

  #retire(cache: TokenCache): void {
    cache.hushVoice();
    this.#leaving.add(cache);
    this.#parts.surroundings.clock.after(cacheLingerMs, () => {
      // Unless everything has ended meanwhile.
      if (this.#leaving.delete(cache)) void cache.close();
    });
  }
}

function keyOf({ tokens }: Config): string {
  return fingerprint(tokens);
}
