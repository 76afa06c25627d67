import type { Config } from "../config/config.ts";
import { fingerprint } from "../config/hash.ts";
import type { Environment } from "../environment.ts";
import type { Event, Report } from "../events.ts";
import { CachedSource } from "../tokens/cached-source.ts";
import { Conduct } from "../tokens/conduct.ts";
import type { Member } from "../tokens/credentials.ts";
import type { PostForm } from "../tokens/endpoint.ts";
import { ForcedRefreshes } from "../tokens/forced-refreshes.ts";
import { drawThresholds } from "../tokens/token.ts";
import { Announcements } from "./announcements.ts";
import { openCache } from "./cache.ts";
import { Leaving } from "./leaving.ts";
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

interface PlacedMember extends Member {
  readonly environment: string;
  readonly tokenKey: string;
  /** How its token stands. */
  readonly announcements: Announcements;
}

/** One source for each credential set, over the cache that the configuration wants. */
export class SetSources {
  readonly #parts: SetSourceParts;
  readonly #thresholds;
  readonly #caches = new Shelf<TokenCache>();
  readonly #leaving: Leaving<TokenCache>;
  readonly #members = new Shelf<PlacedMember>();
  /** They outlive a change of the ways to the login host, or a reload would end every pause. */
  readonly #conducts = new Shelf<{ readonly conduct: Conduct; readonly forcedRefreshes: ForcedRefreshes }>();

  constructor(parts: SetSourceParts) {
    this.#parts = parts;
    this.#thresholds = drawThresholds(parts.surroundings.random);
    const close = (cache: TokenCache) => cache.close();
    this.#leaving = new Leaving(parts.surroundings.clock, { inTime: close, atOnce: close });
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
    for (const gone of this.#members.keepOnly(sets.map(({ sourceKey }) => sourceKey))) this.#dismiss(gone);
    for (const { announcements } of this.#members.all()) announcements.begin();
    this.#conducts.keepOnly(sets.map(({ tokenKey }) => tokenKey));
    for (const cache of this.#caches.keepOnly([keyOf(config)])) {
      cache.announcements.end();
      this.#leaving.add(cache, cacheLingerMs);
    }
    for (const { announcements } of this.#caches.all()) announcements.begin();
  }

  async close(): Promise<void> {
    for (const { source } of this.#members.all()) source.close();
    await Promise.all([...this.#caches.all().map((cache) => cache.close()), this.#leaving.end()]);
  }

  #open({ environment, set, tokenKey, sourceKey }: PlacedSet, config: Config): PlacedMember {
    return this.#members.take(sourceKey, () => {
      const { postFormOf, surroundings } = this.#parts;
      const announcements = new Announcements(this.#parts.report, aspectOfToken);
      const { report } = announcements;
      const { clock, random } = surroundings;
      const cache = this.#caches.find(keyOf(config));
      if (cache === undefined) throw new Error("the cache of a configuration is prepared before its sets");
      const { store, lock } = cache;
      const conducts = this.#conducts.take(tokenKey, () => {
        return { conduct: new Conduct(clock, random), forcedRefreshes: new ForcedRefreshes(clock) };
      });
      const place = { environment: environment.name, set, key: tokenKey, store, lock, post: postFormOf(environment) };
      const thresholds = this.#thresholds;
      const source = new CachedSource({ ...place, ...conducts, thresholds, clock, random, report });
      const predecessor = this.#members.all().find((other) => other.tokenKey === tokenKey);
      if (predecessor !== undefined) source.inherit(predecessor.source);
      return { environment: environment.name, set, source, tokenKey, announcements };
    });
  }

  /** A token goes with its set's secret, unless the set that goes by its name now has one. */
  #dismiss({ environment, set: { label }, source, announcements }: PlacedMember): void {
    source.close();
    const isItsName = (other: PlacedMember) => other.environment === environment && other.set.label === label;
    const isFollowed = this.#members.all().some((other) => isItsName(other) && other.source.hasToken);
    if (announcements.areHeard && source.hasToken && !isFollowed) {
      this.#parts.report({ kind: "token_lapsed", environment, credential: label });
    }
    announcements.end();
  }
}

/** What a fact says of a set's token, if anything: how it stands, or that it was used. */
function aspectOfToken({ kind }: Event): string | undefined {
  if (kind === "token_used") return "use";
  return kind === "token_adopted" || kind === "token_lapsed" ? "standing" : undefined;
}

function keyOf({ tokens }: Config): string {
  return fingerprint(tokens);
}
