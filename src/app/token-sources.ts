import type { Config } from "../config/config.ts";
import { fingerprint, fingerprintOf } from "../config/hash.ts";
import { within } from "../model/clock.ts";
import {
  type Address,
  type CredentialSet,
  type Credentials,
  type Environment,
  type Site,
  tokenUrlOf,
} from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import { type CredentialSnapshot, credentialKey, type Report } from "../model/events.ts";
import { PatchedMap } from "../model/patched-map.ts";
import { AddressLimiter, fewSets } from "../oauth/address-limiter.ts";
import { CredentialFailover } from "../oauth/credential-failover.ts";
import { EndpointBackoff } from "../oauth/endpoint-backoff.ts";
import { ForcedRefreshLimiter } from "../oauth/forced-refresh-limiter.ts";
import type { RefreshParts } from "../oauth/refresh.ts";
import { cacheKey, drawThresholds, type TokenSource } from "../oauth/token.ts";
import { TokenCache } from "../oauth/token-cache.ts";
import type { TokenEndpoint } from "../oauth/token-endpoint.ts";
import type { Dependencies } from "./dependencies.ts";
import { KeyedResources } from "./keyed-resources.ts";
import { openTokenBackends } from "./token-backend.ts";
import { authPoolKey as authPoolKeyOf } from "./upstreams.ts";

/** The longest that a changed configuration waits for its tokens before it is committed. */
const longestPrefetchMs = 5_000;
/** An authorization server may demand a pause this long. */
const longestPauseMs = 86_400_000;

/** A credential set as one configuration has it. */
export interface ConfiguredSet {
  /** Its environment's name. */
  readonly environment: string;
  readonly set: CredentialSet;
  /** Its site, by `ownerKey`. Owner and name identify the set when its secret changes; sites may share a label. */
  readonly owner: string;
  /** One for each client and kind of token: sites that share it share the token, its back-off and its limits. */
  readonly tokenKey: string;
  /** The token endpoint. */
  readonly tokenUrl: Address;
  /** The pool of connections to its authorization server. */
  readonly authPoolKey: string;
  /** The service that gets its tokens. */
  readonly baseUrl: Address;
  /** A fingerprint of everything that its token cache is made from. */
  readonly tokenCacheKey: string;
}

/** A site with credential sets of its own, in one configuration. */
export interface TokenOwner {
  /** See `ownerKey`. */
  readonly key: string;
  readonly config: Config;
  readonly environment: Environment;
  /** S… */
  readonly site: string;
  readonly credentials: Credentials;
  /** A fingerprint of everything but the credentials that its configured sets are made from. */
  readonly basis: string;
  /** One of many sites, perhaps thousands: nothing is opened for it before its first request. */
  readonly isLazy: boolean;
}

const ownersOfConfig = new WeakMap<Config, TokenOwners>();

/** The sites with credential sets of their own. */
export function ownersOf(config: Config): TokenOwners {
  const owners = ownersOfConfig.get(config) ?? new TokenOwners(config);
  ownersOfConfig.set(config, owners);
  return owners;
}

/** The sites with credential sets of their own. Each is described when it is needed: there may be thousands, and most stay the same. */
class TokenOwners {
  readonly #config: Config;
  /** Of each environment a fingerprint of the settings, and whether its sites are lazy. */
  readonly #about = new Map<string, { readonly basis: string; readonly areLazy: boolean }>();

  constructor(config: Config) {
    this.#config = config;
    const areFew = !hasMoreOwnersThan(fewSets, config);
    for (const environment of config.environments.values()) {
      const { name, sites, siteOfKey, siteFolder, defaultSite, ...settings } = environment;
      const parts = [name, siteFolder?.path, defaultSite, settings, config.timeouts, fingerprintOf(config.tokens)];
      this.#about.set(name, { basis: fingerprint(parts), areLazy: siteFolder !== undefined || !areFew });
    }
  }

  /** @param key see `ownerKey` */
  get(key: string): TokenOwner | undefined {
    const [name = "", site = ""] = key.split(" ");
    return this.#find(this.#config.environments.get(name), site);
  }

  *[Symbol.iterator](): Generator<TokenOwner> {
    for (const environment of this.#config.environments.values()) {
      for (const site of environment.sites.values()) {
        const owner = this.#describe(environment, site);
        if (owner !== undefined) yield owner;
      }
    }
  }

  /** Those that are not lazy. */
  *eager(): Generator<TokenOwner> {
    for (const [name, environment] of this.#config.environments) {
      const { sites, defaultSite = "" } = environment;
      const some = this.#about.get(name)?.areLazy ? [defaultSite] : sites.keys();
      for (const site of some) {
        const owner = this.#find(environment, site);
        if (owner !== undefined) yield owner;
      }
    }
  }

  /** Those that are none in another configuration. */
  *missingIn(next: TokenOwners): Generator<TokenOwner> {
    for (const [name, environment] of this.#config.environments) {
      const others = next.#config.environments.get(name)?.sites ?? new Map<string, Site>();
      for (const site of PatchedMap.changedKeys(environment.sites, others)) {
        const owner = isOwner(others.get(site)) ? undefined : this.#find(environment, site);
        if (owner !== undefined) yield owner;
      }
    }
  }

  #find(environment: Environment | undefined, site: string): TokenOwner | undefined {
    const found = environment?.sites.get(site);
    return environment && found && this.#describe(environment, found);
  }

  #describe(environment: Environment, { identifier: site, credentials }: Site): TokenOwner | undefined {
    const { name, defaultSite } = environment;
    const about = this.#about.get(name);
    // A child site may have its parent's.
    if (about === undefined || credentials?.owner !== site) return undefined;
    const { basis, areLazy } = about;
    const isLazy = areLazy && site !== defaultSite;
    return { key: ownerKey(name, site), config: this.#config, environment, site, credentials, basis, isLazy };
  }
}

function hasMoreOwnersThan(most: number, { environments }: Config): boolean {
  let count = 0;
  for (const { sites } of environments.values()) {
    for (const site of sites.values()) {
      if (isOwner(site)) count += 1;
      if (count > most) return true;
    }
  }
  return false;
}

/** Whether the site has credential sets of its own, instead of its parent's. */
function isOwner(site: Site | undefined): boolean {
  return site?.credentials !== undefined && site.credentials.owner === site.identifier;
}

function ownerKey(environment: string, site: string): string {
  return `${environment} ${site}`;
}

/** First choice first. */
type ConfiguredSets = readonly [ConfiguredSet, ...ConfiguredSet[]];

/** The next configuration reuses these sets if only other sites differ: so a set refers to no configuration. */
const setsKnown = new WeakMap<Credentials, { readonly basis: string; readonly sets: ConfiguredSets }>();

/** The credential sets of a site, as its configuration has them. */
export function setsOf(owner: TokenOwner): ConfiguredSets {
  const { credentials, basis } = owner;
  const known = setsKnown.get(credentials);
  if (known?.basis === basis) return known.sets;
  const [first, ...rest] = credentials.sets;
  const sets = [configureSet(first, owner), ...rest.map((set) => configureSet(set, owner))] as const;
  setsKnown.set(credentials, { basis, sets });
  return sets;
}

function configureSet(set: CredentialSet, { key: owner, environment, config }: TokenOwner): ConfiguredSet {
  const { name, baseUrl } = environment;
  const tokenUrl = tokenUrlOf(environment, set);
  const tokenKey = cacheKey(`${tokenUrl.origin}${tokenUrl.path}`, set);
  const authPoolKey = authPoolKeyOf(environment, tokenUrl, config);
  // A cache uses one pool and one form of token request, so a change of either needs a new cache. Also, the token of a former
  // secret must not go to another host.
  const parts = [tokenKey, set.label, set.token, authPoolKey, baseUrl, fingerprintOf(config.tokens)];
  const tokenCacheKey = fingerprint(parts);
  return { environment: name, set, owner, tokenKey, tokenUrl, authPoolKey, baseUrl, tokenCacheKey };
}

/** A set with its token cache and the limits of its token requests; several sites may share it. */
interface OpenSet {
  readonly configured: ConfiguredSet;
  readonly parts: RefreshParts;
  readonly source: TokenCache;
}

/** The tokens of all sites, in the backend that the configuration names. */
export function openTokens(
  tokenEndpointOf: (set: ConfiguredSet) => TokenEndpoint,
  report: Report,
  dependencies: Dependencies,
) {
  const { clock, random } = dependencies;
  const backends = openTokenBackends(report, dependencies, () => {
    for (const { source } of sets.values()) source.resync();
  });
  // A fetch that is running ends by itself.
  const endings = { close: (set: OpenSet) => void closeSet(set), retire: retireSet };
  const sets = new KeyedResources<OpenSet>(clock, endings);
  /** By origin. A reload ends no pause that the authorization server demands. */
  const addresses = new KeyedResources<AddressLimiter>(clock);
  /** The sets that have not ended, by `tokenKey`, oldest first. */
  const sharing = new Map<string, readonly OpenSet[]>();
  /** By owner. Requests that an earlier configuration accepted may still need a retiring failover. */
  const failovers = new KeyedResources<CredentialFailover>(clock);
  /** The active configuration's sites with credential sets of their own. */
  let owners: TokenOwners | undefined;
  /** The `credentialKey` of each of their sets, computed when a set retires. */
  let labels: ReadonlySet<string> | undefined;
  let isClosed = false;

  /** The open set of the active configuration that has the same name, at the same site. */
  function activeInPlaceOf({ owner: key, set: { name } }: ConfiguredSet): OpenSet | undefined {
    const owner = owners?.get(key);
    const active = owner && setsOf(owner).find(({ set }) => set.name === name);
    return active && sets.get(active.tokenCacheKey);
  }

  /**
   * A new cache takes over the token and the limits of another one with the same `tokenKey`. A reload ends no pause that the
   * authorization server demands: otherwise reloads could flood it.
   */
  function createSet(configured: ConfiguredSet, config: Config): OpenSet {
    const { store, lock } = backends.of(config);
    const { environment, set, tokenUrl, tokenKey, authPoolKey } = configured;
    const others = sharing.get(tokenKey) ?? [];
    const sameTransport = others.find((other) => other.configured.authPoolKey === authPoolKey);
    const last = others.at(-1);
    const address = addressOf(configured, config);
    address.opened();
    // One literal: with spreads each of thousands of objects would have a hidden class of its own.
    const parts: RefreshParts = {
      environment,
      set,
      tokenUrl,
      key: tokenKey,
      store,
      lock,
      endpoint: tokenEndpointOf(configured),
      clock,
      random,
      report,
      backoff:
        sameTransport?.parts.backoff ?? last?.parts.backoff.withOtherTransport() ?? new EndpointBackoff(clock, random),
      address,
      forcedRefreshes: last?.parts.forcedRefreshes ?? new ForcedRefreshLimiter(clock),
      thresholds: drawThresholds(random),
      tokenTimeoutMs: config.timeouts.tokenMs,
    };
    const opened = { configured, parts, source: new TokenCache(parts) };
    sharing.set(tokenKey, [...others, opened]);
    const same = others.find((other) => other.source.hasToken);
    if (same !== undefined) opened.source.adoptFrom(same.source);
    return opened;
  }

  function addressOf({ tokenUrl: { origin } }: ConfiguredSet, config: Config): AddressLimiter {
    return addresses.prepare(config, origin, () => new AddressLimiter(origin, clock, random), longestPauseMs);
  }

  function openSet(configured: ConfiguredSet, config: Config): TokenCache {
    addressOf(configured, config);
    const opened = sets.prepare(config, configured.tokenCacheKey, () => createSet(configured, config));
    const active = activeInPlaceOf(configured);
    if (active !== undefined && active !== opened) succeed(opened, active);
    return opened.source;
  }

  function openSources(owner: TokenOwner): readonly [TokenCache, ...TokenCache[]] {
    const { config } = owner;
    const [first, ...rest] = setsOf(owner);
    return [openSet(first, config), ...rest.map((set) => openSet(set, config))];
  }

  /** Reports the token as gone, unless the set now in its place has one; and the label as removed, unless another set has it. */
  function retireSet(retired: OpenSet): void {
    const { configured, source } = retired;
    const { environment, set } = configured;
    const about = { environment, credential: set.label };
    labels ??= new Set([...(owners ?? [])].flatMap(labelsOf));
    const isRemoved = !labels.has(credentialKey(about));
    if (source.hasAnyToken && !activeInPlaceOf(configured)?.source.hasAnyToken)
      report({ kind: "token_lapsed", ...about, reason: isRemoved ? "removed" : "changed" });
    if (isRemoved) report({ kind: "credential_removed", ...about });
    void closeSet(retired);
  }

  async function closeSet(closed: OpenSet): Promise<void> {
    const { configured, parts, source } = closed;
    const { address, key, store } = parts;
    address.closed(key);
    const successor = activeInPlaceOf(configured);
    const others = (sharing.get(key) ?? []).filter((other) => other !== closed);
    if (others.length > 0) sharing.set(key, others);
    else sharing.delete(key);
    await source.close();
    // A refresh that was running may have brought a newer token.
    if (successor !== undefined) succeed(successor, closed);
    const isInUse = sharing.get(key)?.some((other) => other.parts.store === store);
    if (!isInUse) store.forget(key);
    if (address.isUnused) store.forget(address.key);
  }

  function open(owner: TokenOwner): CredentialFailover {
    const { key, config, environment, site } = owner;
    const { requestMs, tokenMs: tokenTimeoutMs } = config.timeouts;
    const candidates = openSources(owner);
    const parts = { environment: environment.name, owner: site, candidates, tokenTimeoutMs, clock, report };
    const failover = failovers.prepare(config, key, () => new CredentialFailover(parts), requestMs);
    failover.use(parts);
    return failover;
  }

  /** Those whose sets are to be open: not a lazy one that no request has needed yet. */
  function listOpen(all: TokenOwners): TokenOwner[] {
    const lazy = [...failovers.keys()].flatMap((key) => all.get(key) ?? []).filter(({ isLazy }) => isLazy);
    return [...all.eager(), ...lazy];
  }

  return {
    /** Fetches a token for a changed secret before its site depends on it, unless the authorization server takes too long. */
    async prepare(config: Config): Promise<void> {
      await backends.prepare(config);
      // `close` may have been called meanwhile.
      if (isClosed) return;
      const opened = listOpen(ownersOf(config)).map((owner) => ({ owner, sources: openSources(owner) }));
      const awaited = opened.filter(({ owner }) =>
        owner.isLazy
          ? setsOf(owner).some((set) => activeInPlaceOf(set)?.source.hasToken)
          : failovers.get(owner.key) !== undefined,
      );
      await within(clock, Promise.all(awaited.map(({ sources }) => fetchFirst(sources))), longestPrefetchMs);
    },

    commit(config: Config): void {
      const next = ownersOf(config);
      // A request under way may still need the tokens of a site that is removed.
      for (const owner of owners?.missingIn(next) ?? []) if (!failovers.get(owner.key)) open(owner);
      for (const owner of listOpen(next)) open(owner);
      owners = next;
      labels = undefined;
      for (const resources of [failovers, sets, addresses, backends]) resources.commit(config);
    },

    /** The tokens of the sets that are configured at a site. */
    tokensOf(environment: string, site: string): TokenSource {
      const key = ownerKey(environment, site);
      const known = failovers.get(key);
      if (known !== undefined) return known;
      if (isClosed) throw new ProxyError("draining", "Countersign is shutting down and asks for no more tokens.");
      const owner = owners?.get(key);
      if (owner === undefined) throw new Error("every site with credentials has a source");
      return open(owner);
    },

    /** Fetches missing tokens in the background. */
    warm(): void {
      for (const { key } of owners?.eager() ?? []) failovers.get(key)?.warm();
    },

    /** The present state of the configured sets, each once: sites may share a set, which is active if one of them uses it. */
    credentials(): readonly CredentialSnapshot[] {
      const unopened: CredentialSnapshot[] = [];
      const opened: CredentialSnapshot[] = [];
      for (const owner of owners ?? []) {
        const failover = failovers.get(owner.key);
        if (failover === undefined) unopened.push(...describeUnopened(owner));
        else opened.push(...failover.snapshot());
      }
      const merged = new Map<string, CredentialSnapshot>();
      // The state of a shared set at one site stands for all: that of an opened site, if there is one.
      for (const each of [...unopened, ...opened]) {
        const key = credentialKey(each);
        const isActive = each.isActive || merged.get(key)?.isActive === true;
        merged.set(key, { ...each, isActive });
      }
      return [...merged.values()];
    },

    claimsOf: backends.claimsOf,
    redis: backends.redis,
    unwritten: backends.unwritten,

    async close(): Promise<void> {
      owners = undefined;
      isClosed = true;
      await sets.close();
      await backends.close();
    },
  };
}

/**
 * The former set's token is used until there is a new one, but never at a host that it was not issued for. Nor does it
 * replace a token with another audience or scope.
 */
function succeed(successor: OpenSet, former: OpenSet): void {
  if (purposeOf(successor) === purposeOf(former)) successor.source.succeed(former.source);
}

/** A token's purpose: its endpoint, its service, and the audience, scope and other fields that were requested. */
function purposeOf({ configured: { tokenUrl, baseUrl, set } }: OpenSet): string {
  const { audience, token: { scope, resource, extra = {} } = {} } = set;
  return fingerprint([tokenUrl, baseUrl, audience, scope, resource, extra]);
}

function labelsOf({ environment: { name: environment }, credentials }: TokenOwner): string[] {
  return credentials.sets.map(({ label: credential }) => credentialKey({ environment, credential }));
}

function describeUnopened({ environment: { name: environment }, credentials }: TokenOwner): CredentialSnapshot[] {
  const nothing = { token: undefined, lastUsedMs: undefined, backoffUntilMs: undefined, isInOutage: false };
  return credentials.sets.map(({ label: credential }, index) => {
    return { environment, credential, isActive: index === 0, ...nothing };
  });
}

/** Fetches the first set's token, or the second's if the first set is refused; nothing if a set has a token. */
async function fetchFirst(sources: readonly TokenCache[]): Promise<void> {
  if (sources.some(({ hasToken }) => hasToken)) return;
  for (const source of sources) {
    await source.warm("start");
    if (!source.isRefused) return;
  }
}
