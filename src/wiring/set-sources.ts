import type { Config } from "../config/config.ts";
import { fingerprint, fingerprintOf } from "../config/hash.ts";
import type { Environment } from "../environment.ts";
import type { Event, Report } from "../events.ts";
import { CachedSource } from "../tokens/cached-source.ts";
import { Conduct } from "../tokens/conduct.ts";
import type { Member } from "../tokens/credentials.ts";
import type { PostForm } from "../tokens/endpoint.ts";
import { ForcedRefreshes } from "../tokens/forced-refreshes.ts";
import type { TokenStore } from "../tokens/store.ts";
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
  /** Where its tokens come from and go to. */
  readonly hosts: string;
  readonly store: TokenStore;
  /** How its token stands. */
  readonly announcements: Announcements;
}

/** What a set's sources are held to, whichever site they serve. */
interface Conducts {
  readonly tokenKey: string;
  readonly conduct: Conduct;
  readonly forcedRefreshes: ForcedRefreshes;
}

/** One source for each credential set, over the cache that the configuration wants. */
export class SetSources {
  readonly #parts: SetSourceParts;
  readonly #thresholds;
  readonly #caches = new Shelf<TokenCache>();
  readonly #leaving: Leaving<TokenCache>;
  readonly #members = new Shelf<PlacedMember>();
  readonly #conducts = new Shelf<Conducts>();

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
    this.#conducts.keepOnly(sets.map(conductKey));
    for (const cache of this.#caches.keepOnly([keyOf(config)])) {
      cache.announcements.end();
      this.#leaving.add(cache, cacheLingerMs);
    }
    for (const { announcements } of this.#caches.all()) announcements.begin();
  }

  async close(): Promise<void> {
    for (const { source } of this.#members.all()) void source.close();
    await Promise.all([...this.#caches.all().map((cache) => cache.close()), this.#leaving.end()]);
  }

  #open(placed: PlacedSet, config: Config): PlacedMember {
    const { environment, set, tokenKey, sourceKey } = placed;
    return this.#members.take(sourceKey, () => {
      const { postFormOf, surroundings } = this.#parts;
      const announcements = new Announcements(this.#parts.report, aspectOfToken);
      const { report } = announcements;
      const { clock, random } = surroundings;
      const cache = this.#caches.find(keyOf(config));
      if (cache === undefined) throw new Error("the cache of a configuration is prepared before its sets");
      const { store, lock } = cache;
      const { conduct, forcedRefreshes } = this.#conductsOf(placed);
      const conducts = { conduct, forcedRefreshes };
      const place = { environment: environment.name, set, key: tokenKey, store, lock, post: postFormOf(environment) };
      const source = new CachedSource({ ...place, ...conducts, thresholds: this.#thresholds, clock, random, report });
      const member = { environment: environment.name, set, source, tokenKey, store, announcements };
      return this.#followUp({ ...member, hosts: fingerprint([environment.authUrl, environment.baseUrl]) });
    });
  }

  /** A reload ends no pause that the authorization server has asked for, or it could be used to flood it. */
  #conductsOf(placed: PlacedSet): Conducts {
    const { clock, random } = this.#parts.surroundings;
    const { tokenKey, way } = placed;
    return this.#conducts.take(conductKey(placed), () => {
      const before = this.#conducts.all().findLast((other) => other.tokenKey === tokenKey);
      if (before !== undefined) return { ...before, conduct: before.conduct.onAnotherWay(way) };
      return { tokenKey, conduct: new Conduct(clock, random, way), forcedRefreshes: new ForcedRefreshes(clock) };
    });
  }

  /** A new source takes up the token of the one with the same secret, or with the set's former secret. */
  #followUp(member: PlacedMember): PlacedMember {
    const { source, tokenKey, hosts } = member;
    const others = this.#members.all().filter((other) => other.source.hasAnyToken);
    const same = others.find((other) => other.tokenKey === tokenKey);
    // A token never goes to a host that it was not issued for.
    const former = others.find((other) => isNamed(other, member) && other.hosts === hosts);
    if (same !== undefined) source.inherit(same.source);
    else if (former !== undefined) source.succeed(former.source);
    return member;
  }

  /** A token goes with its set, unless the set of its name has one now, or serves with this one. */
  #dismiss(member: PlacedMember): void {
    const { environment, set, source, tokenKey, store, announcements } = member;
    void source.close().then(() => {
      const isInUse = this.#members.all().some((other) => other.tokenKey === tokenKey && other.store === store);
      if (!isInUse) store.forget(tokenKey);
    });
    const isFollowed = this.#members.all().some((other) => isNamed(other, member) && other.source.hasAnyToken);
    if (announcements.areHeard && source.hasAnyToken && !isFollowed) {
      this.#parts.report({ kind: "token_lapsed", environment, credential: set.label });
    }
    announcements.end();
  }
}

function conductKey({ tokenKey, way }: PlacedSet): string {
  return `${tokenKey} ${way}`;
}

/** Both are the set of one name, perhaps with another secret. */
function isNamed(one: PlacedMember, other: PlacedMember): boolean {
  return one.environment === other.environment && one.set.label === other.set.label;
}

/** What a fact says of a set's token, if anything: how it stands, or that it was used. */
function aspectOfToken({ kind }: Event): string | undefined {
  if (kind === "token_used") return "use";
  return kind === "token_adopted" || kind === "token_lapsed" ? "standing" : undefined;
}

function keyOf({ tokens }: Config): string {
  return fingerprintOf(tokens);
}
