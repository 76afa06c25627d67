/** Random 401s, each cured by a retry, use a bounded number of tokens, and a dead token is replaced. Seeds are fixed. */
import { describe, expect, it } from "vitest";
import { drawSeed, seededRandom } from "../../../testkit/seeded-random.ts";
import { openSiteTokens } from "../../../testkit/site-tokens.ts";

const minuteMs = 60_000;

const manySites = Array.from({ length: 10 }, (_, n) => `S${n}`);

describe("a service that answers 401 at random", () => {
  it.each([
    // One site: the first token, and twelve in an hour.
    ["one replica, one in a hundred", 1, ["S1"], 0.01, 13],
    ["four replicas, one in a hundred", 4, ["S1"], 0.01, 13],
    // Series of 401s look like a revocation now and then.
    ["four replicas, one in twenty", 4, ["S1"], 0.05, 16],
    ["one replica, one in five", 1, ["S1"], 0.2, 30],
    ["one replica, every other", 1, ["S1"], 0.5, 40],
    ["eight replicas, every other", 8, ["S1"], 0.5, 80],
    ["four replicas, ten sites, one in ten", 4, manySites, 0.1, 300],
  ] as const)(
    "%s: uses few tokens an hour",
    async (what, replicas, sites, share, most) => {
      const { login, play } = stageService(replicas, sites, share, drawSeed(what, 1));
      await play(60 * minuteMs, 200);
      expect(login.requests).toBeLessThanOrEqual(most);
    },
    60_000,
  );

  it("still has a really dead token replaced within a second", async () => {
    const { login, play, revoke } = stageService(4, ["S1"], 0.02, drawSeed("dead beside random", 1));
    await play(minuteMs, 20);
    const before = login.requests;
    revoke();
    const statuses = await play(3_000, 20);
    expect(login.requests).toBeGreaterThan(before);
    expect(statuses.slice(50).filter((status) => status !== 200).length).toBeLessThan(10);
  });
});

describe("a site at which one order in a hundred gets 401 whatever its token", () => {
  /** Plays ten orders a second through four replicas in turn, and measures for how long good orders are lost. */
  function stageBadOrders() {
    const { clock, login, openSource, order } = openSiteTokens();
    const sources = Array.from({ length: 4 }, openSource);
    let oldest = 1;
    let n = 0;
    let lostUntilMs = 0;
    const orderOnce = async (isBad: boolean) => {
      const takes = (token: string) => !isBad && Number(token.split("_")[1]) >= oldest;
      const status = await order(takes, "S1", sources[n % sources.length]);
      if (status !== 200 && !isBad) lostUntilMs = clock.nowMs();
    };
    const play = async (forMs: number, everyMs: number) => {
      for (const untilMs = clock.nowMs() + forMs; clock.nowMs() < untilMs; n++) {
        void orderOnce(n % 100 === 99);
        await clock.advance(everyMs);
      }
    };
    /** For how long orders are lost after a revocation. */
    const revoke = async () => {
      oldest = login.requests + 1;
      const revokedMs = clock.nowMs();
      await play(20_000, 100);
      return lostUntilMs - revokedMs;
    };
    return { login, play, revoke };
  }

  it("uses thirteen tokens in an hour at most", async () => {
    const { login, play } = stageBadOrders();
    await play(60 * minuteMs, 250);
    expect(login.requests).toBeLessThanOrEqual(13);
    const before = login.requests;
    await play(60 * minuteMs, 250);
    expect(login.requests - before).toBeLessThanOrEqual(12);
  }, 60_000);

  it("has a revoked token replaced within ten seconds, again and again", async () => {
    const { login, play, revoke } = stageBadOrders();
    await play(20 * minuteMs, 100);
    for (let revocation = 0; revocation < 4; revocation++) {
      const before = login.requests;
      expect(await revoke()).toBeLessThanOrEqual(10_000);
      expect(login.requests - before).toBeLessThanOrEqual(2);
    }
  }, 60_000);
});

it("a site without permission uses six tokens at most in its first hour, and a token revoked beside it is replaced at once", async () => {
  const { clock, login, source, openSource, order } = openSiteTokens();
  const sources = [source, openSource()];
  let oldest = 1;
  const takes = (token: string) => Number(token.split("_")[1]) >= oldest;
  const good: Promise<number>[] = [];
  for (let second = 0; second < 3_700; second++) {
    if (second === 3_600) expect(login.requests).toBeLessThanOrEqual(6);
    void order(() => false, "bad", sources[second % 2]);
    if (second % 5 === 0) good.push(order(takes, "good", sources[second % 2]));
    await clock.advance(1_000);
  }
  const before = login.requests;
  oldest = before + 1;
  for (let second = 0; second < 10; second++) {
    void order(() => false, "bad", sources[second % 2]);
    good.push(order(takes, "good", sources[second % 2]));
    await clock.advance(1_000);
  }
  await clock.advance(20_000);
  expect(new Set(await Promise.all(good))).toEqual(new Set([200]));
  expect(login.requests).toBe(before + 1);
}, 60_000);

/** Replicas with a shared store, at a service that refuses a share of all attempts, whatever their token. */
function stageService(replicas: number, sites: readonly string[], share: number, seed: number) {
  const stage = openSiteTokens();
  const { clock, login, openSource, order } = stage;
  const sources = Array.from({ length: replicas }, openSource);
  const random = seededRandom(seed);
  let oldest = 1;
  const takes = (token: string) => Number(token.split("_")[1]) >= oldest && random() >= share;
  /** Plays orders at a steady pace; returns their statuses. */
  const play = async (forMs: number, everyMs: number) => {
    const answers: Promise<number>[] = [];
    for (let n = 0; n * everyMs < forMs; n++) {
      const site = sites[Math.floor(random() * sites.length)];
      answers.push(order(takes, site, sources[n % sources.length]));
      await clock.advance(everyMs);
    }
    // No order waits longer for its token.
    await clock.advance(20_000);
    return Promise.all(answers);
  };
  const revoke = () => {
    oldest = login.requests + 1;
  };
  return { ...stage, play, revoke };
}
