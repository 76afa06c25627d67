import type { Config } from "../config/config.ts";
import { fingerprint, fingerprintOf } from "../config/hash.ts";
import { within } from "../model/clock.ts";
import type { CredentialSnapshot } from "../model/credential-snapshot.ts";
import {
  type Address,
  type CredentialSet,
  type Credentials,
  type Environment,
  tokenUrlOf,
} from "../model/environment.ts";
import type { Report } from "../model/events.ts";
import { CredentialFailover } from "../oauth/credential-failover.ts";
import { EndpointBackoff } from "../oauth/endpoint-backoff.ts";
import { ForcedRefreshLimiter } from "../oauth/forced-refresh-limiter.ts";
import { cacheKey, drawThresholds, type TokenSource } from "../oauth/token.ts";
import { TokenCache } from "../oauth/token-cache.ts";
import type { TokenEndpoint } from "../oauth/token-endpoint.ts";
import type { TokenStore } from "../oauth/token-store.ts";
import type { Dependencies } from "./dependencies.ts";
import { KeyedResources } from "./keyed-resources.ts";
import { openTokenBackends } from "./token-backend.ts";
import { authPoolKey as authPoolKeyOf } from "./upstreams.ts";

/** The longest that a changed configuration waits for its tokens before it is committed. */
const longestPrefetchMs = 5_000;

/** A credential set as one configuration has it. */
export interface ConfiguredSet {
  /** Its environment's name. */
  readonly environment: string;
  readonly set: CredentialSet;
  /** The environment, the site and the set's own name. It stays when the secret changes, unlike a label that sites share. */
  readonly slot: string;
  /** One for each client and what it asks a token for: sites that share them share its token, its back-off and its limits. */
  readonly tokenKey: string;
  /** Where its token requests go. */
  readonly tokenUrl: Address;
  /** The pool of connections to its authorization server. */
  readonly authPoolKey: string;
  /** What its token is for: the hosts that it comes from and goes to, and what it is asked for. */
  readonly purpose: string;
  /** All that its token cache is made from. */
  readonly tokenCacheKey: string;
}

/** A site with credential sets of its own. */
export interface TokenOwner {
  readonly key: string;
  readonly environment: string;
  /** S… */
  readonly site: string;
  /** First choice first. */
  readonly sets: readonly [ConfiguredSet, ...ConfiguredSet[]];
  /** One of thousands that have files of their own: it has no token before it is asked for an order. */
  readonly isLazy: boolean;
}

const ownersOfConfig = new WeakMap<Config, readonly TokenOwner[]>();

export function ownersOf(config: Config): readonly TokenOwner[] {
  const owners =
    ownersOfConfig.get(config) ?? [...config.environments.values()].flatMap((each) => listOwners(each, config));
  ownersOfConfig.set(config, owners);
  return owners;
}

/** Of one configuration, and of the next if only other sites differ: so an owner holds none of them. */
const ownersKnown = new WeakMap<Credentials, { readonly basis: string; readonly owner: TokenOwner }>();

function listOwners(environment: Environment, config: Config): TokenOwner[] {
  const { name, sites, siteOfKey, siteFolder, defaultSite, ...settings } = environment;
  const parts = [name, siteFolder?.path, defaultSite, settings, config.timeouts, fingerprintOf(config.tokens)];
  const basis = fingerprint(parts);
  return [...sites.values()].flatMap(({ identifier: site, credentials }) => {
    if (credentials?.owner !== site) return [];
    const known = ownersKnown.get(credentials);
    if (known?.basis === basis) return known.owner;
    const key = ownerKey(name, site);
    const [first, ...rest] = credentials.sets;
    const configure = (set: CredentialSet) => configureSet(environment, key, set, config);
    const isLazy = siteFolder !== undefined && site !== defaultSite;
    const owner = { key, environment: name, site, sets: [configure(first), ...rest.map(configure)] as const, isLazy };
    ownersKnown.set(credentials, { basis, owner });
    return owner;
  });
}

export function ownerKey(environment: string, site: string): string {
  return `${environment} ${site}`;
}

function configureSet(environment: Environment, owner: string, set: CredentialSet, config: Config): ConfiguredSet {
  const { name, baseUrl } = environment;
  const { audience, token: { scope, resource, extra = {} } = {} } = set;
  const tokenUrl = tokenUrlOf(environment, set);
  const tokenKey = cacheKey(`${tokenUrl.origin}${tokenUrl.path}`, set);
  const authPoolKey = authPoolKeyOf(environment, tokenUrl, config);
  const purpose = fingerprint([tokenUrl, baseUrl, audience, scope, resource, extra]);
  // A cache uses one pool and one way of asking, so it must not outlive them. Also, the token of a former secret must not
  // go to another host.
  const parts = [tokenKey, set.label, set.token, authPoolKey, baseUrl, fingerprintOf(config.tokens)];
  const tokenCacheKey = fingerprint(parts);
  return {
    environment: name,
    set,
    slot: `${owner} ${set.name}`,
    tokenKey,
    tokenUrl,
    authPoolKey,
    purpose,
    tokenCacheKey,
  };
}

/** A set with its token cache. */
interface OpenSet {
  readonly configured: ConfiguredSet;
  readonly source: TokenCache;
  readonly store: TokenStore;
}

/** What limits the token requests of a set, at whichever sites it is configured. */
interface RequestLimits {
  readonly tokenKey: string;
  readonly backoff: EndpointBackoff;
  readonly forcedRefreshes: ForcedRefreshLimiter;
}

/** The tokens of all sites, over the backend that the configuration names. */
export type Tokens = ReturnType<typeof openTokens>;

export function openTokens(
  tokenEndpointOf: (set: ConfiguredSet) => TokenEndpoint,
  report: Report,
  dependencies: Dependencies,
) {
  const { clock, random } = dependencies;
  const thresholds = drawThresholds(random);
  const backends = openTokenBackends(report, dependencies, () => {
    for (const { source } of sets.values()) source.resync();
  });
  const limits = new KeyedResources<RequestLimits>(clock, { close() {} }, ({ tokenKey }) => tokenKey);
  // A fetch that is running ends by itself.
  const endings = { close: (set: OpenSet) => void closeSet(set), retire: retireSet };
  const sets = new KeyedResources<OpenSet>(clock, endings, ({ configured }) => configured.tokenKey);
  /** By owner. Requests that were accepted by an earlier configuration may still need one that is retiring. */
  const failovers = new KeyedResources<CredentialFailover>(clock);
  /** The active configuration's owners of tokens. */
  let owners: readonly TokenOwner[] = [];
  /** By slot, the `tokenCacheKey` in the active configuration. */
  let activeKeys: ReadonlyMap<string, string> = new Map();
  let isClosed = false;
  const activeIn = (slot: string) => sets.get(activeKeys.get(slot) ?? "");

  /** A reload ends no pause that the authorization server has asked for. Otherwise reloads could flood it. */
  function limitsOf({ tokenKey, authPoolKey }: ConfiguredSet, config: Config): RequestLimits {
    return limits.prepare(config, `${tokenKey} ${authPoolKey}`, () => {
      const before = limits.inGroup(tokenKey).at(-1);
      return {
        tokenKey,
        backoff: before?.backoff.withOtherTransport() ?? new EndpointBackoff(clock, random),
        forcedRefreshes: before?.forcedRefreshes ?? new ForcedRefreshLimiter(clock),
      };
    });
  }

  /** A new cache takes the token of another one with the same secret. */
  function createSet(configured: ConfiguredSet, { backoff, forcedRefreshes }: RequestLimits, config: Config): OpenSet {
    const { store, lock } = backends.of(config);
    const { environment, set, tokenKey } = configured;
    // One literal: with spreads each of thousands of objects would have a hidden class of its own.
    const source = new TokenCache({
      environment,
      set,
      key: tokenKey,
      store,
      lock,
      endpoint: tokenEndpointOf(configured),
      clock,
      random,
      report,
      backoff,
      forcedRefreshes,
      thresholds,
      tokenTimeoutMs: config.timeouts.tokenMs,
    });
    const same = sets.inGroup(tokenKey).find((other) => other.source.hasToken);
    if (same !== undefined) source.adoptFrom(same.source);
    return { source, configured, store };
  }

  function openSet(configured: ConfiguredSet, config: Config): TokenCache {
    const own = limitsOf(configured, config);
    const opened = sets.prepare(config, configured.tokenCacheKey, () => createSet(configured, own, config));
    const active = activeIn(configured.slot);
    if (active !== undefined && active !== opened) succeed(opened, active);
    return opened.source;
  }

  const openSources = ({ sets: [first, ...rest] }: TokenOwner, config: Config) =>
    [openSet(first, config), ...rest.map((set) => openSet(set, config))] as const;

  /** Its token is gone, unless the set now in its slot has one. Its label may be that of another set now. */
  function retireSet(retired: OpenSet): void {
    const { configured, source } = retired;
    const { environment, set, slot } = configured;
    const about = { environment, credential: set.label };
    if (source.hasAnyToken && !activeIn(slot)?.source.hasAnyToken) report({ kind: "token_lapsed", ...about });
    const present = owners.filter((owner) => owner.environment === environment).flatMap(({ sets }) => sets);
    if (present.every((each) => each.set.label !== set.label)) report({ kind: "credential_removed", ...about });
    void closeSet(retired);
  }

  async function closeSet(closed: OpenSet): Promise<void> {
    const { configured, source, store } = closed;
    const { slot, tokenKey } = configured;
    const successor = activeIn(slot);
    await source.close();
    // A refresh that was running may have brought a newer token.
    if (successor !== undefined) succeed(successor, closed);
    const isInUse = sets.inGroup(tokenKey).some((other) => other.store === store);
    if (!isInUse) store.forget(tokenKey);
  }

  function configure(owner: TokenOwner, config: Config): void {
    const { key, environment, site } = owner;
    const { requestMs, tokenMs: tokenTimeoutMs } = config.timeouts;
    const candidates = openSources(owner, config);
    const parts = { environment, owner: site, candidates, tokenTimeoutMs, clock, report };
    failovers.prepare(config, key, () => new CredentialFailover(parts), requestMs).use(parts);
  }

  return {
    /** A changed secret has its token before its site depends on it, unless the authorization server takes too long. */
    async prepare(config: Config): Promise<void> {
      await backends.prepare(config);
      // Meanwhile all connections may have ended.
      if (isClosed) return;
      const opened = ownersOf(config).map((owner) => ({ owner, sources: openSources(owner, config) }));
      const awaited = opened.filter(({ owner: { key, sets, isLazy } }) =>
        isLazy ? sets.some(({ slot }) => activeIn(slot)?.source.hasToken) : failovers.get(key) !== undefined,
      );
      await within(clock, Promise.all(awaited.map(({ sources }) => fetchFirst(sources))), longestPrefetchMs);
    },

    commit(config: Config): void {
      owners = ownersOf(config);
      for (const owner of owners) configure(owner, config);
      const configured = owners.flatMap((owner) => owner.sets);
      activeKeys = new Map(configured.map(({ slot, tokenCacheKey }) => [slot, tokenCacheKey]));
      for (const resources of [failovers, sets, limits, backends]) resources.commit(config);
    },

    /** The tokens of the sets that are configured at a site. */
    tokensOf(environment: string, owner: string): TokenSource {
      const failover = failovers.get(ownerKey(environment, owner));
      if (failover === undefined) throw new Error("every site with credentials has a source");
      return failover;
    },

    /** Fetches tokens in the background where there are none. */
    warm(): void {
      for (const { key, isLazy } of owners) if (!isLazy) failovers.get(key)?.warm();
    },

    /** The configured sets at this moment, by their sites; one that several sites use is there several times. */
    credentials: (): readonly CredentialSnapshot[] => owners.flatMap(({ key }) => failovers.get(key)?.snapshot() ?? []),

    claimsOf: backends.claimsOf,
    redis: backends.redis,

    async close(): Promise<void> {
      owners = [];
      isClosed = true;
      await sets.close();
      await backends.close();
    },
  };
}

/**
 * The former secret's token serves until there is a new one, but never goes to a host that it was not issued for. Nor does it
 * stand for a token with another audience or scope.
 */
function succeed(successor: OpenSet, former: OpenSet): void {
  if (successor.configured.purpose === former.configured.purpose) successor.source.succeed(former.source);
}

/** The first set's token, or the second's where the first is refused. */
async function fetchFirst(sources: readonly TokenCache[]): Promise<void> {
  if (sources.some(({ hasToken }) => hasToken)) return;
  for (const source of sources) {
    await source.warm("start");
    if (!source.isRefused) return;
  }
}
