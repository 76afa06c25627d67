import type { Config } from "../config/config.ts";
import { fingerprintOf } from "../config/hash.ts";
import type { Environment } from "../model/environment.ts";
import type { Event, Report } from "../model/events.ts";
import { type Candidate, CredentialFailover } from "../oauth/credential-failover.ts";
import { EndpointBackoff } from "../oauth/endpoint-backoff.ts";
import { ForcedRefreshLimiter } from "../oauth/forced-refresh-limiter.ts";
import { drawThresholds } from "../oauth/token.ts";
import { TokenCache } from "../oauth/token-cache.ts";
import type { PostForm } from "../oauth/token-endpoint.ts";
import type { TokenSource } from "../oauth/token-source.ts";
import type { TokenStore } from "../oauth/token-store.ts";
import { within } from "../oauth/within.ts";
import type { Dependencies } from "./dependencies.ts";
import { KeyedResources } from "./keyed-resources.ts";
import type { Reloadable } from "./reloadable.ts";
import { StateReport } from "./state-report.ts";
import { openTokenBackend, type TokenBackend } from "./token-backend.ts";
import { type ConfiguredSet, ownerKey, ownersOf, type TokenOwner } from "./token-owners.ts";

/** A fetch that began with another backend still saves and unlocks there. */
const backendLingerMs = 20_000;
/** The longest that a changed configuration waits for its tokens before it is committed. */
const longestPrefetchMs = 5_000;
/** Enough to tell two pools apart. It is shared through Redis, so it is not the whole fingerprint of a key. */
const shownPoolDigits = 16;

/** A set with its token cache. */
interface OpenSet extends Candidate {
  readonly configured: ConfiguredSet;
  readonly store: TokenStore;
  /** What is known of its token. */
  readonly state: StateReport;
}

/** What limits the token requests of a set, at whichever sites it is configured. */
interface RequestLimits {
  readonly tokenKey: string;
  readonly conduct: EndpointBackoff;
  readonly forcedRefreshes: ForcedRefreshLimiter;
}

/** The tokens of all sites, over the backend that the configuration names. */
export class TokenSources implements Reloadable {
  readonly #postFormOf: (environment: Environment) => PostForm;
  readonly #report: Report;
  readonly #dependencies: Dependencies;
  readonly #thresholds;
  readonly #backends: KeyedResources<TokenBackend>;
  /** By `tokenCacheKey`. */
  readonly #sets: KeyedResources<OpenSet>;
  readonly #limits: KeyedResources<RequestLimits>;
  /** By owner. Requests that were accepted by an earlier configuration may still need one that is retiring. */
  readonly #failovers: KeyedResources<CredentialFailover>;
  /** Of the active configuration. */
  #owners: readonly TokenOwner[] = [];
  /** By slot, the `tokenCacheKey` in the active configuration. */
  #activeKeys: ReadonlyMap<string, string> = new Map();

  constructor(postFormOf: (environment: Environment) => PostForm, report: Report, dependencies: Dependencies) {
    const { clock, random } = dependencies;
    this.#postFormOf = postFormOf;
    this.#report = report;
    this.#dependencies = dependencies;
    this.#thresholds = drawThresholds(random);
    this.#backends = new KeyedResources(clock, { close: (backend) => backend.close() });
    this.#sets = new KeyedResources(clock, {
      retire: (set) => this.#retire(set),
      // Nobody waits for a fetch that is running.
      close: (set) => void this.#close(set),
    });
    this.#limits = new KeyedResources(clock);
    this.#failovers = new KeyedResources(clock);
  }

  /** A changed secret has its token before its site depends on it, unless the authorization server takes too long. */
  async prepare(config: Config): Promise<void> {
    await this.#prepareBackend(config);
    const owners = ownersOf(config).map((owner) => ({ owner, sets: this.#open(owner, config) }));
    const awaited = owners.filter(({ owner }) => this.#failovers.get(owner.key) !== undefined);
    const fetched = Promise.all(awaited.map(({ sets }) => fetchFirst(sets)));
    await within(this.#dependencies.clock, fetched, longestPrefetchMs);
  }

  commit(config: Config): void {
    const before = credentialsOf(this.#owners);
    this.#owners = ownersOf(config);
    for (const owner of this.#owners) this.#configure(owner, config);
    const sets = this.#owners.flatMap((owner) => owner.sets);
    this.#activeKeys = new Map(sets.map(({ slot, tokenCacheKey }) => [slot, tokenCacheKey]));
    this.#failovers.commit(this.#owners.map(({ key }) => key));
    this.#sets.commit(sets.map(({ tokenCacheKey }) => tokenCacheKey));
    for (const { state } of this.#sets.values()) state.isActive = true;
    this.#limits.commit(sets.map(limitsKey));
    this.#backends.commit([backendKey(config)]);
    const active = this.#backends.get(backendKey(config));
    for (const backend of this.#backends.values()) backend.state.isActive = backend === active;
    const present = credentialsOf(this.#owners);
    for (const [key, credential] of before) {
      if (!present.has(key)) this.#report({ kind: "credential_removed", ...credential });
    }
  }

  /** The tokens of the sets that are configured at a site. */
  tokensOf(environment: string, owner: string): TokenSource {
    const failover = this.#failovers.get(ownerKey(environment, owner));
    if (failover === undefined) throw new Error("every site with credentials has a source");
    return failover;
  }

  /** Fetches tokens in the background where there are none. */
  warm(): void {
    for (const { key } of this.#owners) this.#failovers.get(key)?.warm();
  }

  async close(): Promise<void> {
    this.#owners = [];
    await this.#sets.close();
    await this.#backends.close();
  }

  async #prepareBackend(config: Config): Promise<void> {
    const key = backendKey(config);
    const backend = this.#backends.get(key) ?? (await this.#openBackend(config));
    this.#backends.prepare(key, () => backend, backendLingerMs);
  }

  async #openBackend(config: Config): Promise<TokenBackend> {
    const backend = await openTokenBackend(config, this.#report, this.#dependencies);
    backend.onReturn(() => {
      for (const { source } of this.#sets.values()) source.resync();
    });
    return backend;
  }

  #configure(owner: TokenOwner, config: Config): void {
    const { key, environment, site } = owner;
    const { clock } = this.#dependencies;
    const { requestMs, tokenMs: tokenTimeoutMs } = config.timeouts;
    const members = this.#open(owner, config);
    const parts = { environment, owner: site, members, tokenTimeoutMs, clock, report: this.#report };
    this.#failovers.prepare(key, () => new CredentialFailover(parts), requestMs).use(members, tokenTimeoutMs);
  }

  #open({ sets: [first, ...rest] }: TokenOwner, config: Config): readonly [OpenSet, ...OpenSet[]] {
    return [this.#openSet(first, config), ...rest.map((set) => this.#openSet(set, config))];
  }

  #openSet(configured: ConfiguredSet, config: Config): OpenSet {
    const opened = this.#sets.prepare(configured.tokenCacheKey, () => this.#createSet(configured, config));
    const active = this.#activeIn(configured.slot);
    if (active !== undefined) succeed(opened, active);
    return opened;
  }

  /** A new cache takes the token of another one with the same secret. */
  #createSet(configured: ConfiguredSet, config: Config): OpenSet {
    const backend = this.#backends.get(backendKey(config));
    if (backend === undefined) throw new Error("the backend of a configuration is prepared before its sets");
    const { environment, set, tokenKey } = configured;
    const { store, lock } = backend;
    const { clock, random } = this.#dependencies;
    const state = new StateReport(this.#report, aspectOf);
    const source = new TokenCache({
      environment: environment.name,
      set,
      key: tokenKey,
      store,
      lock,
      post: this.#postFormOf(environment),
      ...this.#limitsOf(configured),
      thresholds: this.#thresholds,
      clock,
      random,
      report: state.report,
    });
    const same = this.#sets.values().find((other) => other.source.hasToken && other.configured.tokenKey === tokenKey);
    if (same !== undefined) source.adoptFrom(same.source);
    return { set, source, configured, store, state };
  }

  /** A reload ends no pause that the authorization server has asked for. Otherwise reloads could flood it. */
  #limitsOf(configured: ConfiguredSet): Omit<RequestLimits, "tokenKey"> {
    const { clock, random } = this.#dependencies;
    const { tokenKey, authPoolKey } = configured;
    const pool = authPoolKey.slice(0, shownPoolDigits);
    const { conduct, forcedRefreshes } = this.#limits.prepare(limitsKey(configured), () => {
      const before = this.#limits.values().findLast((other) => other.tokenKey === tokenKey);
      return {
        tokenKey,
        conduct: before?.conduct.onAnotherWay(pool) ?? new EndpointBackoff(clock, random, pool),
        forcedRefreshes: before?.forcedRefreshes ?? new ForcedRefreshLimiter(clock),
      };
    });
    return { conduct, forcedRefreshes };
  }

  #activeIn(slot: string): OpenSet | undefined {
    return this.#sets.get(this.#activeKeys.get(slot) ?? "");
  }

  /** Its token is gone, unless the set now in its slot has one. */
  #retire(retired: OpenSet): void {
    const { configured, set, source, state } = retired;
    const { environment, slot } = configured;
    if (source.hasAnyToken && !this.#activeIn(slot)?.source.hasAnyToken) {
      this.#report({ kind: "token_lapsed", environment: environment.name, credential: set.label });
    }
    state.isActive = false;
    void this.#close(retired);
  }

  async #close(closed: OpenSet): Promise<void> {
    const { configured, source, store } = closed;
    const { slot, tokenKey } = configured;
    const successor = this.#activeIn(slot);
    await source.close();
    // A refresh that was running may have brought a newer token.
    if (successor !== undefined) succeed(successor, closed);
    const isInUse = this.#sets
      .values()
      .some((other) => other.configured.tokenKey === tokenKey && other.store === store);
    if (!isInUse) store.forget(tokenKey);
  }
}

/** The former secret's token serves until there is a new one, but never goes to a host that it was not issued for. */
function succeed(successor: OpenSet, former: OpenSet): void {
  if (successor.configured.hosts === former.configured.hosts) successor.source.succeed(former.source);
}

/** The first set's token, or the second's where the first is refused. */
async function fetchFirst(sets: readonly Candidate[]): Promise<void> {
  if (sets.some(({ source }) => source.hasToken)) return;
  for (const { source } of sets) {
    await source.warm("start");
    if (!source.isRefused) return;
  }
}

/** What an event says of a set's token, if anything. */
function aspectOf({ kind }: Event): string | undefined {
  if (kind === "token_used") return "use";
  return kind === "token_adopted" || kind === "token_lapsed" ? "freshness" : undefined;
}

function backendKey({ tokens }: Config): string {
  return fingerprintOf(tokens);
}

function limitsKey({ tokenKey, authPoolKey }: ConfiguredSet): string {
  return `${tokenKey} ${authPoolKey}`;
}

/** Credentials as events name them. */
function credentialsOf(owners: readonly TokenOwner[]) {
  const credentials = owners.flatMap(({ environment, sets }) =>
    sets.map(({ set }) => ({ environment, credential: set.label })),
  );
  return new Map(credentials.map((each) => [`${each.environment} ${each.credential}`, each]));
}
