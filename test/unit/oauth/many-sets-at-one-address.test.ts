/**
 * Many credential sets at one authorization server. Orders come first, no token request is made within a Retry-After
 * of the address, and the sets are refreshed one by one.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import { openTokens } from "../../../src/app/token-sources.ts";
import type { Config } from "../../../src/config/config.ts";
import { toYaml } from "../../../src/config/files/yaml.ts";
import { sleep } from "../../../src/model/clock.ts";
import { ProxyError } from "../../../src/model/errors.ts";
import type { TokenEndpoint } from "../../../src/oauth/token-endpoint.ts";
import { ConfigFolder } from "../../../testkit/config-folder.ts";
import { sandboxConfig } from "../../../testkit/config-writer.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";
import { siteAt } from "../../../testkit/many-sites.ts";
import { seededRandom } from "../../../testkit/seeded-random.ts";
import { answered } from "../../../testkit/token-endpoint-script.ts";

const environment = "sandbox";

/** An authorization server 20 ms away, which allows some token requests in a second, over all clients. */
class LimitedServer {
  readonly #clock: FakeClock;
  lifetimeSeconds = 600;
  perSecond = Number.POSITIVE_INFINITY;
  retryAfterSeconds = 1;
  /** Clients that get a 429 whatever the others do, with this Retry-After in seconds. */
  readonly ownLimits = new Map<string, number>();
  /** Clients that get a 401. */
  readonly refused = new Set<string>();
  readonly requests: { readonly atMs: number; readonly client: string; readonly status: number }[] = [];
  /** Requests that were sent although an answer had demanded a pause. */
  tooEarly = 0;
  busiest = 0;
  #atOnce = 0;
  #pausedUntilMs = 0;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  readonly endpoint: TokenEndpoint = {
    connect: async () => undefined,
    post: async ({ body }) => {
      const client = new URLSearchParams(body).get("client_id") ?? "";
      if (this.#clock.nowMs() < this.#pausedUntilMs) this.tooEarly += 1;
      this.#atOnce += 1;
      this.busiest = Math.max(this.busiest, this.#atOnce);
      await sleep(this.#clock, 10);
      const atMs = this.#clock.nowMs();
      if (this.refused.has(client)) {
        this.#atOnce -= 1;
        return answered(401);
      }
      const own = this.ownLimits.get(client);
      const recent = this.requests.filter((each) => each.status === 200 && each.atMs > atMs - 1_000);
      const isRefused = own !== undefined || recent.length >= this.perSecond;
      this.requests.push({ atMs, client, status: isRefused ? 429 : 200 });
      await sleep(this.#clock, 10);
      this.#atOnce -= 1;
      if (isRefused) {
        const seconds = own ?? this.retryAfterSeconds;
        if (own === undefined) this.#pausedUntilMs = this.#clock.nowMs() + seconds * 1_000;
        return answered(429, "", `${seconds}`);
      }
      const token = { access_token: `token-${this.requests.length}`, token_type: "Bearer" };
      return answered(200, JSON.stringify({ ...token, expires_in: this.lifetimeSeconds }));
    },
    sign: async () => "signed",
    readAssertion: async () => ({ text: "read", expiresAtMs: undefined }),
  };

  count(status: number): number {
    return this.requests.filter((each) => each.status === status).length;
  }

  /** The most token requests that arrived within any second after this time. */
  busiestSecond(sinceMs: number): number {
    const times = this.requests.map(({ atMs }) => atMs).filter((atMs) => atMs >= sinceMs);
    return Math.max(0, ...times.map((fromMs, n) => times.slice(n).filter((atMs) => atMs < fromMs + 1_000).length));
  }
}

describe("at the start", () => {
  it("few sets are fetched, four at a time", async () => {
    const { clock, server } = await stage(20);
    await clock.advance(5_000);
    expect(server.requests).toHaveLength(20);
    expect(server.busiest).toBe(4);
  });

  it("of more sets only the default site's is fetched; the others' first order fetches it", async () => {
    const { clock, server, order } = await stage(21);
    await clock.advance(5_000);
    expect(server.requests.map(({ client }) => client)).toEqual(["client-0"]);
    const ordered = order(20);
    await clock.advance(100);
    expect(await ordered).toBe(20);
  });
});

it("a refused set is tried after its pause and that of its address: the later one is what callers are told", async () => {
  const { clock, server, order } = await stage(30);
  await clock.advance(2_000);
  server.refused.add("client-0").add("client-1");
  const first = order(1);
  await clock.advance(100);
  expect(await first).toMatchObject({ code: "credentials_refused", retryAfterMs: expect.closeTo(10_000, -3) });
  server.refused.clear();
  server.perSecond = 0;
  server.retryAfterSeconds = 30;
  // The address pauses for another set's 429.
  const other = order(2);
  await clock.advance(100);
  expect(await other).toMatchObject({ code: "token_unavailable", retryAfterMs: expect.closeTo(30_000, -3) });
  const refused = await order(1);
  expect(refused).toMatchObject({ code: "credentials_refused", retryAfterMs: expect.closeTo(30_000, -3) });
  expect((refused as ProxyError).message).toMatch(/Next try in (29|30) s/);
});

describe("a reload that changes the secret of many sets", () => {
  it("fetches the tokens of those in use alone, four at a time, while the former tokens serve", async () => {
    const { clock, server, apply, load, orders } = await stage(300);
    const first = orders(0, 100);
    await clock.advance(10_000);
    expectServed(await Promise.all(first), 10_000);
    server.busiest = 0;
    const reloaded = apply(await load(300, (site) => `changed-${site}`));
    await clock.advance(5_000);
    await reloaded;
    expectServed(await Promise.all(orders(0, 100)), 0);
    await clock.advance(60_000);
    expect(server.requests).toHaveLength(200);
    expect(server.busiest).toBeLessThanOrEqual(4);
  });

  it("fetches nothing for a site that is removed while it waits for its turn", async () => {
    const { clock, server, apply, load, orders } = await stage(300);
    const first = orders(0, 300);
    await clock.advance(10_000);
    await Promise.all(first);
    const reloaded = apply(await load(300, (site) => `changed-${site}`));
    await clock.advance(5_000);
    await reloaded;
    await apply(await load(1, (site) => `changed-${site}`));
    // Requests under way may need a removed site for 20 s.
    await clock.advance(21_000);
    const { length } = server.requests;
    expect(length).toBeLessThan(600);
    await clock.advance(400_000);
    expect(server.requests.length).toBe(length);
  });
});

describe("1,000 sets in use", () => {
  const sites = 1_000;

  it("whose tokens began together: in three lives the busiest second has 3 % of them, and no order waits", async () => {
    const { clock, server, orders } = await stage(sites);
    const first = orders(0, sites);
    await clock.advance(30_000);
    expectServed(await Promise.all(first), 5_000);
    const sinceMs = clock.nowMs();
    for (let minute = 0; minute < 3 * 10; minute += 1) {
      await clock.advance(60_000);
      expectServed(await Promise.all(orders(0, sites)), 0);
    }
    expect(server.busiestSecond(sinceMs)).toBeLessThanOrEqual(30);
    // One for each life: 30 minutes are three whole lives, and a part of the fourth.
    expect(server.requests.length).toBeGreaterThanOrEqual(4 * sites);
    expect(server.requests.length).toBeLessThanOrEqual(4.5 * sites);
  });

  it("whose lives are so short that they cannot spread: no token ends, since the nearest to its end goes first", async () => {
    const { clock, server, orders } = await stage(sites);
    server.lifetimeSeconds = 60;
    const first = orders(0, sites);
    await clock.advance(10_000);
    await Promise.all(first);
    server.busiest = 0;
    for (let second = 0; second < 180; second += 5) {
      await clock.advance(5_000);
      expectServed(await Promise.all(orders(0, sites)), 0);
    }
    expect(server.busiest).toBeLessThanOrEqual(4);
  });

  it("and a server that allows 20 requests in a second: none within a Retry-After, and orders first", async () => {
    const { clock, server, orders } = await stage(sites);
    server.perSecond = 20;
    server.lifetimeSeconds = 120;
    const burst = orders(0, 40);
    await clock.advance(5_000);
    // Those that the 429 answered are told to come again; the others wait for their turn.
    const isTold = (waited: number | ProxyError) => typeof waited !== "number";
    const told = (await Promise.all(burst)).filter(isTold);
    expect(told.length).toBeLessThanOrEqual(8);
    for (const error of told) expect(error).toMatchObject({ code: "token_unavailable", retryAfterMs: 1_000 });
    const waits: Promise<number | ProxyError>[] = [];
    for (let n = 40; n < sites; n += 10) {
      waits.push(...orders(n, n + 10));
      await clock.advance(1_000);
    }
    await clock.advance(5_000);
    // Meanwhile, the first sets are refreshed in the background.
    expectServed(
      (await Promise.all(waits)).filter((waited) => !isTold(waited)),
      5_000,
    );
    expect((await Promise.all(waits)).filter(isTold).length).toBeLessThan(sites / 100);
    expect(server.count(200)).toBeGreaterThan(sites);
    expect(server.count(429)).toBeGreaterThan(0);
    expect(server.tooEarly).toBe(0);
  });

  it("an order overtakes all that wait in the background", async () => {
    const { clock, server, order, orders, apply, load } = await stage(sites);
    const first = orders(0, sites - 1);
    await clock.advance(10_000);
    await Promise.all(first);
    server.lifetimeSeconds = 3_600;
    const reloaded = apply(await load(sites, (site) => `changed-${site}`));
    await clock.advance(5_000);
    await reloaded;
    const ofAnother = order(sites - 1);
    await clock.advance(100);
    expectServed([await ofAnother], 40);
  });
});

describe("after a 429 that demands a long pause", () => {
  it("an order of another set waits for no token, and is told when to come again", async () => {
    const { clock, server, order } = await stage(21);
    await clock.advance(1_000);
    server.ownLimits.set("client-1", 30);
    const refused = order(1);
    await clock.advance(100);
    expect(await refused).toMatchObject({ code: "token_unavailable", retryAfterMs: 30_000 });
    const { length } = server.requests;
    const other = order(2);
    await clock.advance(1);
    expect(await other).toMatchObject({ code: "token_unavailable", retryAfterMs: expect.any(Number) });
    expect((await other) as ProxyError).toMatchObject({
      message: expect.stringContaining("(429, pause of its address)"),
    });
    // The default site has its token.
    expect(await order(0)).toBe(0);
    server.ownLimits.clear();
    await clock.advance(29_000);
    expect(server.requests).toHaveLength(length);
    await clock.advance(1_000);
    // Set 1 goes first, which has waited; then at least four a second.
    const later = order(2);
    await clock.advance(1_000);
    expectServed([await later], 300);
  });
});

/** A process with so many sites, each with a credential set of its own; the first is the default site. */
async function stage(sites: number) {
  const clock = new FakeClock();
  const server = new LimitedServer(clock);
  const random = seededRandom(1);
  const tokens = openTokens(
    () => server.endpoint,
    () => {},
    { clock, random, report: () => {} },
  );
  onTestFinished(() => tokens.close());
  const apply = async (config: Config) => {
    await tokens.prepare(config);
    tokens.commit(config);
    tokens.warm();
  };
  const folder = new ConfigFolder();
  const load = async (count: number, secret = (site: number) => `secret-${site}`) => {
    const set = (n: number) => {
      const clientSecret = folder.secret(`secret-${n}`, `${secret(n)}-of-sixteen-characters`);
      return { name: "one", clientId: `client-${n}`, clientSecret, audience: "https://api.example" };
    };
    const all = Array.from({ length: count }, (_, n) => [siteAt(n), { credentials: [set(n)] }] as const);
    const sandbox = {
      baseUrl: "https://api.example/json-api",
      authUrl: "https://login.example",
      operations: ["create_order"],
      defaultSite: siteAt(0),
      sites: Object.fromEntries(all),
    };
    return (await folder.loadSound(toYaml(sandboxConfig(["127.0.0.1:0"], sandbox)))).config;
  };
  await apply(await load(sites));
  /** Resolves to the time that an order of this site has waited for its token, or to why it got none. */
  const order = async (site: number): Promise<number | ProxyError> => {
    const startedMs = clock.nowMs();
    const source = tokens.tokensOf(environment, siteAt(site));
    try {
      const token = await source.get(startedMs + 20_000);
      source.accepted(token, siteAt(site), clock.nowMs());
      return clock.nowMs() - startedMs;
    } catch (error) {
      if (error instanceof ProxyError) return error;
      throw error;
    }
  };
  /** An order of each site in this range, all at once. */
  const orders = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => order(from + n));
  return { clock, server, tokens, apply, load, order, orders };
}

/** Each order got its token, after this time in ms at most. */
function expectServed(waits: readonly (number | ProxyError)[], mostMs: number): void {
  expect(waits.filter((waited) => typeof waited !== "number")).toEqual([]);
  expect(Math.max(...waits.map(Number))).toBeLessThanOrEqual(mostMs);
}
