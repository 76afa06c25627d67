import { onTestFinished } from "vitest";
import { createMemoryRefreshLock, createMemoryTokenStore } from "../src/adapters/memory/token-store.ts";
import { openTokens } from "../src/app/token-sources.ts";
import type { Config } from "../src/config/config.ts";
import type { Address, CredentialSet, TokenSettings } from "../src/model/environment.ts";
import type { Event, NoNewerToken } from "../src/model/events.ts";
import { Secret } from "../src/model/secret.ts";
import { AddressLimiter } from "../src/oauth/address-limiter.ts";
import { CredentialFailover } from "../src/oauth/credential-failover.ts";
import { EndpointBackoff } from "../src/oauth/endpoint-backoff.ts";
import { ForcedRefreshLimiter } from "../src/oauth/forced-refresh-limiter.ts";
import { cacheKey, type Token } from "../src/oauth/token.ts";
import { TokenCache } from "../src/oauth/token-cache.ts";
import type { RefreshLock, TokenStore } from "../src/oauth/token-store.ts";
import { EventRecorder } from "./event-recorder.ts";
import { FakeClock } from "./fake-clock.ts";
import { TokenEndpointScript } from "./token-endpoint-script.ts";

/** 90 s of leeway and 84 % of the lifetime: the middle of the random range. */
export const thresholds = { dueShare: 0.84, leewayMs: 90_000 };
export const hourMs = 3_600_000;
const tokenTimeoutMs = 5_000;

export const setOfBlue: CredentialSet = {
  label: "S1/blue",
  name: "blue",
  clientId: "client-blue",
  clientSecret: new Secret("secret-blue"),
  audience: "https://api",
};
export const tokenUrl: Address = { origin: "https://login", scheme: "https", host: "login", port: 443, path: "" };
export const keyOfBlue = cacheKey("https://login", setOfBlue);

/** A token's text, or the reason why there is none. */
export function show(found: Token | NoNewerToken): string {
  return typeof found === "string" ? found : found.secret.reveal();
}

/** Parts that replicas share. */
interface Sharing {
  readonly store: TokenStore;
  readonly lock: RefreshLock;
  readonly login: TokenEndpointScript;
  /** Token settings, if they differ from the service's own form of token request. */
  readonly token?: TokenSettings;
}

/** The tokens of one process and one site; the test controls the clock and the authorization server. */
export function openSiteTokens(names: readonly [string, ...string[]] = ["blue"]) {
  const clock = new FakeClock();
  const login = new TokenEndpointScript();
  const recorder = new EventRecorder();
  const store = createMemoryTokenStore(clock);
  const lock = createMemoryRefreshLock();
  const random = () => 0.5;
  const { report } = recorder;

  const openMember = (name: string, address: AddressLimiter, { login: asked, token, ...shared }: Sharing) => {
    const set: CredentialSet = {
      label: `S1/${name}`,
      name,
      clientId: `client-${name}`,
      clientSecret: new Secret(`secret-${name}`),
      audience: "https://api",
      token,
    };
    const towards = { backoff: new EndpointBackoff(clock, random), forcedRefreshes: new ForcedRefreshLimiter(clock) };
    const key = cacheKey("https://login", set);
    const parts = {
      environment: "test",
      set,
      tokenUrl,
      key,
      ...shared,
      endpoint: asked.endpoint,
      ...towards,
      address,
      thresholds,
      tokenTimeoutMs,
      clock,
      random,
      report,
    };
    return new TokenCache(parts);
  };
  /** Another process's view of the same sets, with its own memory; it shares store, lock and authorization server unless `shared` replaces them. */
  const openReplica = (shared: Partial<Sharing> = {}) => {
    const [first, ...rest] = names;
    const sharing = { store, lock, login, ...shared };
    const address = new AddressLimiter("https://login", clock, random);
    const open = (name: string) => openMember(name, address, sharing);
    const candidates = [open(first), ...rest.map(open)] as const;
    const source = new CredentialFailover({
      environment: "test",
      owner: "S1",
      candidates,
      tokenTimeoutMs,
      clock,
      report,
    });
    return { source, members: candidates.map((cache) => ({ source: cache })) };
  };
  const openSource = () => openReplica().source;
  const source = openSource();
  /** The usual deadline of a request. */
  const deadline = () => clock.nowMs() + 20_000;
  /** Gets a token, and returns its text. */
  const get = async (from = source) => show(await from.get(deadline()));
  /** Requests a replacement for a token that got a 401; a refresh takes a second. */
  const replace = async (token: Token, site = "S1", from = source) => {
    const replacing = from.replace(token, site, deadline());
    await clock.advance(1_000);
    return replacing;
  };
  /** Plays an order to a service that accepts such tokens; returns the order's status. */
  const order = async (takes: (token: string) => boolean, site = "S1", from = source) => {
    const first = await from.get(deadline());
    if (takes(show(first))) {
      from.accepted(first, site, clock.nowMs());
      return 200;
    }
    const second = await from.replace(first, site, deadline());
    if (typeof second === "string") return 401;
    if (!takes(show(second))) {
      from.refused(second, site);
      return 401;
    }
    from.cured(second, site, clock.nowMs());
    return 200;
  };
  return { clock, login, recorder, store, lock, source, openSource, openReplica, deadline, get, replace, order };
}

/** The tokens of a process by its configuration; the test controls the clock and the authorization server. */
export async function openTokensOf(config: Config) {
  const clock = new FakeClock();
  const login = new TokenEndpointScript();
  const events: Event[] = [];
  const note = (event: Event) => void events.push(event);
  const tokens = openTokens(() => login.endpoint, note, { clock, random: () => 0.5, report: () => {} });
  onTestFinished(() => tokens.close());
  const apply = async (next: Config) => {
    await tokens.prepare(next);
    tokens.commit(next);
  };
  await apply(config);
  return { clock, login, tokens, events, apply };
}
