import { describe, expect, it } from "vitest";
import { Secret } from "../../src/model/secret.ts";
import { forcedRefreshesOf } from "../../src/oauth/forced-refresh-log.ts";
import type { EndpointPause, LimitEvent } from "../../src/oauth/shared-limits.ts";
import type { StoredToken, TokenStore } from "../../src/oauth/token-store.ts";

/** A store under test, seen by two holders, a key that nobody has used, and a way to let its time pass. */
export interface StoreUnderTest {
  readonly one: TokenStore;
  readonly other: TokenStore;
  readonly key: string;
  readonly pass: (ms: number) => Promise<void>;
}

/** What every token store promises; the same suite runs on each of them. */
export function describeTokenStore(name: string, open: () => Promise<StoreUnderTest>): void {
  const token = (text: string, lifetimeMs = 60_000) => ({ secret: new Secret(text), lifetimeMs });
  const textOf = (stored: StoredToken | undefined) => stored?.secret.reveal();

  describe(`a token store (${name})`, () => {
    it("knows nothing at first", async () => {
      const { one, key } = await open();
      const { token, limits } = await one.read(key);
      expect(token).toBeUndefined();
      expect(limits).toEqual({ endpoint: undefined, sites: new Map(), facts: [] });
    });

    it("shows a saved token to everyone, with the life that is left of it", async () => {
      const { one, other, key, pass } = await open();
      const saved = await one.save(key, token("t1"), 0);
      expect(textOf(saved)).toBe("t1");
      expect(saved.remainingMs).toBeGreaterThan(59_000);
      await pass(200);
      const read = (await other.read(key)).token;
      expect(textOf(read)).toBe("t1");
      expect(read?.lifetimeMs).toBe(60_000);
      expect(read?.remainingMs).toBeLessThanOrEqual(59_810);
      expect(read?.remainingMs).toBeGreaterThan(40_000);
    });

    it("counts a life from the token request, not from the saving", async () => {
      const { one, other, key } = await open();
      expect((await one.save(key, token("t1"), 20_000)).remainingMs).toBeLessThanOrEqual(40_000);
      expect((await other.read(key)).token?.remainingMs).toBeLessThanOrEqual(40_000);
    });

    it("keeps the newest, in whichever order tokens are saved, and tells the saver", async () => {
      const { one, other, key } = await open();
      await one.save(key, token("t1"), 10_000);
      expect(textOf(await other.save(key, token("t2"), 5_000))).toBe("t2");
      expect(textOf(await one.save(key, token("late"), 8_000))).toBe("t2");
      expect(textOf((await one.read(key)).token)).toBe("t2");
    });

    it("gives a token back that is dead on arrival, and does not keep it", async () => {
      const { one, key } = await open();
      expect(textOf(await one.save(key, token("t1", 1_000), 1_500))).toBe("t1");
      expect((await one.read(key)).token).toBeUndefined();
    });

    it("keeps keys apart", async () => {
      const { one, other, key } = await open();
      await one.save(`${key}1`, token("t1"), 0);
      await one.save(`${key}2`, token("t2"), 0);
      await one.record(`${key}1`, { kind: "forced", token: "t1", site: "S1" });
      expect(textOf((await other.read(`${key}1`)).token)).toBe("t1");
      expect(textOf((await other.read(`${key}2`)).token)).toBe("t2");
      expect((await other.read(`${key}2`)).limits?.facts).toEqual([]);
    });

    it("forgets a token at the end of its life", async () => {
      const { one, key, pass } = await open();
      await one.save(key, token("t1", 300), 0);
      await pass(320);
      expect((await one.read(key)).token).toBeUndefined();
    });
  });

  describe(`the limits that replicas share (${name})`, () => {
    const paused = (more: Partial<EndpointPause> = {}): LimitEvent => ({
      kind: "endpoint_paused",
      pause: { kind: "throttled", status: 429, failures: 3, remainingMs: 60_000, ...more },
    });
    const forced = (token: string, { site = "S1", isDoubtful = false } = {}): LimitEvent => {
      return { kind: isDoubtful ? "doubtful" : "forced", token, site };
    };
    const accepted = (token: string): LimitEvent => ({ kind: "accepted", token, site: "S1" });
    const recovered = (token: string): LimitEvent => ({ kind: "recovered", token, site: "S1" });
    const failed = (token: string, pauseMs: number): LimitEvent => ({ kind: "failed", token, site: "S1", pauseMs });

    const limitsOf = async (store: TokenStore, key: string) => {
      const { limits } = await store.read(key);
      if (limits === undefined) throw new Error("the store could not be read");
      return { ...limits, refreshes: forcedRefreshesOf(limits.facts) };
    };

    it("say with which transport the authorization server was not reached", async () => {
      const { one, other, key } = await open();
      await one.record(key, paused({ kind: "failing", status: undefined, transport: "0a1b2c" }));
      expect((await limitsOf(other, key)).endpoint).toMatchObject({ kind: "failing", transport: "0a1b2c" });
    });

    it("say how long the authorization server is to be left alone", async () => {
      const { one, other, key, pass } = await open();
      await one.record(key, paused());
      await pass(100);
      const { endpoint } = await limitsOf(other, key);
      expect(endpoint).toMatchObject({ kind: "throttled", status: 429, failures: 3 });
      expect(endpoint?.remainingMs).toBeLessThanOrEqual(59_910);
      expect(endpoint?.remainingMs).toBeGreaterThan(40_000);
      expect(endpoint?.ageMs).toBeGreaterThanOrEqual(90);
      expect(endpoint?.ageMs).toBeLessThan(20_000);
    });

    it("keep the longer of two pauses", async () => {
      const { one, other, key } = await open();
      await one.record(key, paused());
      await other.record(key, paused({ kind: "failing", status: 503, remainingMs: 1_000 }));
      expect((await limitsOf(other, key)).endpoint?.kind).toBe("throttled");
      await other.record(key, paused({ kind: "refused", status: 401, remainingMs: 90_000 }));
      expect((await limitsOf(one, key)).endpoint?.kind).toBe("refused");
    });

    it("end the pause when it is over, and when a token is issued later", async () => {
      const { one, other, key, pass } = await open();
      await one.record(key, paused({ remainingMs: 200, status: undefined }));
      expect((await limitsOf(other, key)).endpoint?.status).toBeUndefined();
      await pass(220);
      expect((await limitsOf(other, key)).endpoint).toBeUndefined();
      await one.record(key, paused());
      await pass(5);
      await other.save(key, token("t1"), 0);
      expect((await limitsOf(one, key)).endpoint).toBeUndefined();
    });

    it("do not end a pause for a token that was asked for before it", async () => {
      const { one, other, key } = await open();
      await one.record(key, paused());
      await other.save(key, token("t1"), 30_000);
      expect((await limitsOf(one, key)).endpoint?.kind).toBe("throttled");
    });

    it("know forced refreshes for a minute, and whether their token is accepted", async () => {
      const { one, other, key, pass } = await open();
      await one.record(key, forced("t1"));
      await pass(5);
      await one.record(key, forced("t2", { site: "S2" }));
      const { refreshes } = await limitsOf(other, key);
      expect(refreshes.map(({ token, site, status }) => [token, site, status])).toEqual([
        ["t1", "S1", "pending"],
        ["t2", "S2", "pending"],
      ]);
      await other.record(key, accepted("t1"));
      expect((await limitsOf(one, key)).refreshes.map(({ token, status }) => [token, status])).toEqual([
        ["t1", "accepted"],
        ["t2", "pending"],
      ]);
    });

    it("pause a site once for one token, and no later success takes a failed refresh back", async () => {
      const { one, other, key } = await open();
      await one.record(key, forced("t1"));
      await one.record(key, failed("t1", 30_000));
      await other.record(key, failed("t1", 60_000));
      const { sites, refreshes } = await limitsOf(other, key);
      expect(sites.get("S1")?.pauseMs).toBe(30_000);
      expect(sites.get("S1")?.remainingMs).toBeLessThanOrEqual(30_000);
      expect(refreshes.map(({ status }) => status)).toEqual(["failed"]);
      await other.record(key, accepted("t1"));
      const after = await limitsOf(one, key);
      expect(after.sites.size).toBe(0);
      expect(after.refreshes).toMatchObject([{ token: "t1", status: "failed", isAccepted: true }]);
    });

    it("keep each site's own pause, the newest", async () => {
      const { one, other, key } = await open();
      await one.record(key, failed("t1", 30_000));
      await one.record(key, { kind: "failed", token: "t1", site: "S1-more", pauseMs: 60_000 });
      await other.record(key, failed("t2", 120_000));
      const { sites } = await limitsOf(one, key);
      expect([...sites].map(([site, { pauseMs }]) => [site, pauseMs]).sort()).toEqual([
        ["S1", 120_000],
        ["S1-more", 60_000],
      ]);
      await other.record(key, recovered("t2"));
      expect([...(await limitsOf(one, key)).sites.keys()]).toEqual(["S1-more"]);
    });

    it("keep a doubt about a refresh, whatever becomes of its token", async () => {
      const { one, other, key } = await open();
      await one.record(key, forced("t1", { isDoubtful: true }));
      await one.record(key, forced("t2", { isDoubtful: true }));
      await other.record(key, forced("t2"));
      await other.record(key, recovered("t1"));
      await other.record(key, accepted("t2"));
      await other.record(key, recovered("t3"));
      const { refreshes } = await limitsOf(one, key);
      const doubts = Object.fromEntries(refreshes.map(({ token, isDoubtful }) => [token, isDoubtful]));
      expect(doubts).toEqual({ t1: true, t2: true, t3: false });
      await other.record(key, failed("t2", 30_000));
      expect((await limitsOf(one, key)).refreshes.find(({ token }) => token === "t2")?.isDoubtful).toBe(true);
    });

    it("never take back that a refresh has recovered a request", async () => {
      const { one, other, key } = await open();
      await one.record(key, failed("t1", 30_000));
      await other.record(key, recovered("t1"));
      await one.record(key, failed("t1", 30_000));
      await one.record(key, forced("t1"));
      await one.record(key, accepted("t1"));
      const { sites, refreshes } = await limitsOf(other, key);
      expect(sites.size).toBe(0);
      expect(refreshes.map(({ token, status }) => [token, status])).toEqual([["t1", "recovered"]]);
    });

    it("know a site's pause when it is over, so that the next can be longer", async () => {
      const { one, other, key, pass } = await open();
      await one.record(key, failed("t1", 50));
      await pass(60);
      expect((await limitsOf(other, key)).sites.get("S1")).toEqual({ pauseMs: 50, remainingMs: 0 });
    });

    it("keep the newest 32 forced refreshes, however many there are", async () => {
      const { one, key, pass } = await open();
      for (let n = 0; n < 40; n++) {
        await one.record(key, forced(`t${n}`));
        await pass(2);
      }
      const { refreshes } = await limitsOf(one, key);
      expect(refreshes).toHaveLength(32);
      expect(refreshes.at(-1)?.token).toBe("t39");
    });
  });
}
