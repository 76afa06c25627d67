import { onTestFinished } from "vitest";
import { createMemoryRefreshLock, createMemoryTokenStore } from "../src/adapters/memory/token-store.ts";
import { openTokens } from "../src/app/token-sources.ts";
import type { Config } from "../src/config/config.ts";
import type { CredentialSet, TokenSettings } from "../src/model/environment.ts";
import type { Event, NoNewerToken } from "../src/model/events.ts";
import { Secret } from "../src/model/secret.ts";
import { CredentialFailover } from "../src/oauth/credential-failover.ts";
import { EndpointBackoff } from "../src/oauth/endpoint-backoff.ts";
import { ForcedRefreshLimiter } from "../src/oauth/forced-refresh-limiter.ts";
import { cacheKey, type Token } from "../src/oauth/token.ts";
import { TokenCache } from "../src/oauth/token-cache.ts";
import type { RefreshLock, TokenStore } from "../src/oauth/token-store.ts";
import { EventRecorder } from "./event-recorder.ts";
import { FakeClock } from "./fake-clock.ts";
import { TokenEndpointScript } from "./token-endpoint-script.ts";

/** 90 s of leeway and 84 %: in the middle of what is drawn. */
export const thresholds = { dueShare: 0.84, leewayMs: 90_000 };
export const hourMs = 3_600_000;
const tokenTimeoutMs = 5_000;

/** The cache key of the set `blue`. */
export const keyOfBlue = cacheKey("https://login", {
  label: "S1/blue",
  name: "blue",
  clientId: "client-blue",
  clientSecret: new Secret("secret-blue"),
  audience: "https://api",
});

/** A token's text, or why there is none. */
export function show(found: Token | NoNewerToken): string {
  return typeof found === "string" ? found : found.secret.reveal();
}

/** What replicas have in common. */
interface Sharing {
  readonly store: TokenStore;
  readonly lock: RefreshLock;
  readonly login: TokenEndpointScript;
  /** How it asks, where that is not the service's own way. */
  readonly token?: TokenSettings;
}

/** The tokens of one process and one site, on a clock and an authorization server that the test owns. */
export function stageTokens(names: readonly [string, ...string[]] = ["blue"]) {
  const clock = new FakeClock();
  const login = new TokenEndpointScript();
  const recorder = new EventRecorder();
  const store = createMemoryTokenStore(clock);
  const lock = createMemoryRefreshLock();
  const random = () => 0.5;
  const { report } = recorder;

  const openMember = (name: string, { login: asked, token, ...shared }: Sharing) => {
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
      key,
      ...shared,
      endpoint: asked.endpoint,
      ...towards,
      thresholds,
      tokenTimeoutMs,
      clock,
      random,
      report,
    };
    return new TokenCache(parts);
  };
  /** Another process's view of the same sets: its own memory; store, lock and authorization server unless given others. */
  const openReplica = (shared: Partial<Sharing> = {}) => {
    const [first, ...rest] = names;
    const sharing = { store, lock, login, ...shared };
    const candidates = [openMember(first, sharing), ...rest.map((name) => openMember(name, sharing))] as const;
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
  /** The usual one. */
  const deadline = () => clock.nowMs() + 20_000;
  /** A token, by its text. */
  const get = async (from = source) => show(await from.get(deadline()));
  /** What comes in place of a token that got a 401; a refresh takes a second. */
  const replace = async (token: Token, site = "S1", from = source) => {
    const replacing = from.replace(token, site, deadline());
    await clock.advance(1_000);
    return replacing;
  };
  /** An order at a service that takes such tokens; its status. */
  const order = async (takes: (token: string) => boolean, site = "S1", from = source) => {
    const first = await from.get(deadline());
    if (takes(show(first))) {
      from.accepted(first, site);
      return 200;
    }
    const second = await from.replace(first, site, deadline());
    if (typeof second === "string" || !takes(show(second))) return 401;
    from.cured(second, site);
    return 200;
  };
  return { clock, login, recorder, store, lock, source, openSource, openReplica, deadline, get, replace, order };
}

/** The tokens of a process by its configuration, on a clock and an authorization server that the test owns. */
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
