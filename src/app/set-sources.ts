import type { Config } from "../config/config.ts";
import { fingerprint, fingerprintOf } from "../config/hash.ts";
import type { Environment } from "../model/environment.ts";
import type { Event, Report } from "../model/events.ts";
import type { Candidate } from "../oauth/credential-failover.ts";
import { EndpointBackoff } from "../oauth/endpoint-backoff.ts";
import { ForcedRefreshLimiter } from "../oauth/forced-refresh-limiter.ts";
import { drawThresholds } from "../oauth/token.ts";
import { TokenCache } from "../oauth/token-cache.ts";
import type { PostForm } from "../oauth/token-endpoint.ts";
import type { TokenStore } from "../oauth/token-store.ts";
import { Announcements } from "./announcements.ts";
import { openCache } from "./cache.ts";
import type { Dependencies } from "./dependencies.ts";
import { KeyedResources } from "./keyed-resources.ts";
import { Leaving } from "./leaving.ts";
import type { TokenBackend } from "./token-backend.ts";
import type { PlacedSet, TokenOwner } from "./token-owners.ts";

/** A fetch that began with another cache still saves and unlocks there. */
const cacheLingerMs = 20_000;

export interface SetSourceParts {
  readonly postFormOf: (environment: Environment) => PostForm;
  readonly report: Report;
  readonly surroundings: Dependencies;
}

interface PlacedMember extends Candidate {
  readonly environment: string;
  /** Of the first set that it serves, whose label it has. */
  readonly placeKey: string;
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
  readonly conduct: EndpointBackoff;
  readonly forcedRefreshes: ForcedRefreshLimiter;
}

/** One source for each credential set, over the cache that the configuration wants. */
export class SetSources {
  readonly #parts: SetSourceParts;
  readonly #thresholds;
  readonly #caches = new KeyedResources<TokenBackend>();
  readonly #leaving: Leaving<TokenBackend>;
  readonly #members = new KeyedResources<PlacedMember>();
  readonly #conducts = new KeyedResources<Conducts>();
  /** By a set's place, the key of its source in the configuration in force. */
  #inForce: ReadonlyMap<string, string> = new Map();

  constructor(parts: SetSourceParts) {
    this.#parts = parts;
    this.#thresholds = drawThresholds(parts.surroundings.random);
    const close = (cache: TokenBackend) => cache.close();
    this.#leaving = new Leaving(parts.surroundings.clock, { inTime: close, atOnce: close });
  }

  async prepareCache(config: Config): Promise<void> {
    if (this.#caches.find(keyOf(config)) !== undefined) return;
    const cache = await openCache(config, this.#parts.report, this.#parts.surroundings);
    this.#caches.take(keyOf(config), () => cache);
    cache.onReturn(() => {
      for (const { source } of this.#members.all()) source.resync();
    });
  }

  /** A site's sets in order, over the cache that was prepared for this configuration. */
  of({ sets: [first, ...rest] }: TokenOwner, config: Config): readonly [Candidate, ...Candidate[]] {
    return [this.#open(first, config), ...rest.map((set) => this.#open(set, config))];
  }

  keepOnly(owners: readonly TokenOwner[], config: Config): void {
    const sets = owners.flatMap((owner) => owner.sets);
    this.#inForce = new Map(sets.map(({ placeKey, sourceKey }) => [placeKey, sourceKey]));
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
    const { environment, set, placeKey, tokenKey, sourceKey } = placed;
    const member = this.#members.take(sourceKey, () => {
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
      const source = new TokenCache({ ...place, ...conducts, thresholds: this.#thresholds, clock, random, report });
      const hosts = fingerprint([environment.authUrl, environment.baseUrl]);
      return this.#inherit({
        environment: environment.name,
        set,
        source,
        placeKey,
        tokenKey,
        hosts,
        store,
        announcements,
      });
    });
    const former = this.#memberInForce(placeKey);
    if (former !== undefined) succeed(member, former);
    return member;
  }

  #memberInForce(placeKey: string): PlacedMember | undefined {
    return this.#members.find(this.#inForce.get(placeKey) ?? "");
  }

  /** A reload ends no pause that the authorization server has asked for, or it could be used to flood it. */
  #conductsOf(placed: PlacedSet): Conducts {
    const { clock, random } = this.#parts.surroundings;
    const { tokenKey } = placed;
    // It is shared through Redis: enough to tell two ways apart, and no fingerprint of a key.
    const way = placed.way.slice(0, 16);
    return this.#conducts.take(conductKey(placed), () => {
      const before = this.#conducts.all().findLast((other) => other.tokenKey === tokenKey);
      if (before !== undefined) return { ...before, conduct: before.conduct.withTransport(way) };
      return {
        tokenKey,
        conduct: new EndpointBackoff(clock, random, way),
        forcedRefreshes: new ForcedRefreshLimiter(clock),
      };
    });
  }

  /** A new source takes up the token of one with the same secret. */
  #inherit(member: PlacedMember): PlacedMember {
    const same = this.#members.all().find(({ source, tokenKey }) => source.hasToken && tokenKey === member.tokenKey);
    if (same !== undefined) member.source.adoptFrom(same.source);
    return member;
  }

  /** A token goes with its set, unless the set in its place has one now, or serves with this one. */
  #dismiss(member: PlacedMember): void {
    const { environment, set, source, placeKey, tokenKey, store, announcements } = member;
    const follower = this.#memberInForce(placeKey);
    void source.close().then(() => {
      // A refresh that was under way may have brought a newer token.
      if (follower !== undefined) succeed(follower, member);
      const isInUse = this.#members.all().some((other) => other.tokenKey === tokenKey && other.store === store);
      if (!isInUse) store.forget(tokenKey);
    });
    if (announcements.areHeard && source.hasAnyToken && !follower?.source.hasAnyToken) {
      this.#parts.report({ kind: "token_lapsed", environment, credential: set.label });
    }
    announcements.end();
  }
}

function conductKey({ tokenKey, way }: PlacedSet): string {
  return `${tokenKey} ${way}`;
}

/** The token of the set's former secret serves on, but never goes to a host that it was not issued for. */
function succeed(member: PlacedMember, former: PlacedMember): void {
  if (former.hosts === member.hosts) member.source.succeed(former.source);
}

/** What a fact says of a set's token, if anything: how it stands, or that it was used. */
function aspectOfToken({ kind }: Event): string | undefined {
  if (kind === "token_used") return "use";
  return kind === "token_adopted" || kind === "token_lapsed" ? "standing" : undefined;
}

function keyOf({ tokens }: Config): string {
  return fingerprintOf(tokens);
}
