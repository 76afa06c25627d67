import { describe, expect, it } from "vitest";
import { Secret } from "../../src/model/secret.ts";
import type { Note, SharedPause } from "../../src/oauth/shared-limits.ts";
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
      const { token, conduct } = await one.read(key);
      expect(token).toBeUndefined();
      expect(conduct).toEqual({ login: undefined, sites: new Map(), tries: [] });
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
      await one.note(`${key}1`, { kind: "tried", token: "t1", site: "S1", isDoubted: false });
      expect(textOf((await other.read(`${key}1`)).token)).toBe("t1");
      expect(textOf((await other.read(`${key}2`)).token)).toBe("t2");
      expect((await other.read(`${key}2`)).conduct?.tries).toEqual([]);
    });

    it("forgets a token at the end of its life", async () => {
      const { one, key, pass } = await open();
      await one.save(key, token("t1", 300), 0);
      await pass(320);
      expect((await one.read(key)).token).toBeUndefined();
    });
  });

  describe(`the conduct that replicas share (${name})`, () => {
    const pause = (more: Partial<SharedPause> = {}): Note => ({
      kind: "login_paused",
      pause: { kind: "throttled", status: 429, failures: 3, remainingMs: 60_000, ...more },
    });
    const useless = (token: string, pauseMs: number): Note => ({ kind: "useless", token, site: "S1", pauseMs });

    const conductOf = async (store: TokenStore, key: string) => {
      const { conduct } = await store.read(key);
      if (conduct === undefined) throw new Error("the store could not be read");
      return conduct;
    };

    it("tells by which way the authorization server was not reached", async () => {
      const { one, other, key } = await open();
      await one.note(key, pause({ kind: "failing", status: undefined, way: "0a1b2c" }));
      expect((await conductOf(other, key)).login).toMatchObject({ kind: "failing", way: "0a1b2c" });
    });

    it("tells everyone how long the authorization server is to be left alone", async () => {
      const { one, other, key, pass } = await open();
      await one.note(key, pause());
      await pass(100);
      const { login } = await conductOf(other, key);
      expect(login).toMatchObject({ kind: "throttled", status: 429, failures: 3 });
      expect(login?.remainingMs).toBeLessThanOrEqual(59_910);
      expect(login?.remainingMs).toBeGreaterThan(40_000);
    });

    it("ends the pause when it is over, and when a token is issued later", async () => {
      const { one, other, key, pass } = await open();
      await one.note(key, pause({ remainingMs: 200, status: undefined }));
      expect((await conductOf(other, key)).login?.status).toBeUndefined();
      await pass(220);
      expect((await conductOf(other, key)).login).toBeUndefined();
      await one.note(key, pause());
      await pass(5);
      await other.save(key, token("t1"), 0);
      expect((await conductOf(one, key)).login).toBeUndefined();
    });

    it("does not end a pause for a token that was asked for before it", async () => {
      const { one, other, key } = await open();
      await one.note(key, pause());
      await other.save(key, token("t1"), 30_000);
      expect((await conductOf(one, key)).login?.kind).toBe("throttled");
    });

    it("remembers forced refreshes for a minute, and whether their token is accepted", async () => {
      const { one, other, key, pass } = await open();
      await one.note(key, { kind: "tried", token: "t1", site: "S1", isDoubted: false });
      await pass(5);
      await one.note(key, { kind: "tried", token: "t2", site: "S2", isDoubted: false });
      const { tries } = await conductOf(other, key);
      expect(tries.map(({ token, site, fate }) => [token, site, fate])).toEqual([
        ["t1", "S1", "open"],
        ["t2", "S2", "open"],
      ]);
      await other.note(key, { kind: "accepted", token: "t1", site: "S1" });
      expect((await conductOf(one, key)).tries.map(({ token, fate }) => [token, fate])).toEqual([
        ["t1", "accepted"],
        ["t2", "open"],
      ]);
    });

    it("pauses a site once for one token, and no later success takes a useless refresh back", async () => {
      const { one, other, key } = await open();
      await one.note(key, { kind: "tried", token: "t1", site: "S1", isDoubted: false });
      await one.note(key, useless("t1", 30_000));
      await other.note(key, useless("t1", 60_000));
      const { sites, tries } = await conductOf(other, key);
      expect(sites.get("S1")?.pauseMs).toBe(30_000);
      expect(sites.get("S1")?.remainingMs).toBeLessThanOrEqual(30_000);
      expect(tries.map(({ fate }) => fate)).toEqual(["useless"]);
      await other.note(key, { kind: "accepted", token: "t1", site: "S1" });
      const after = await conductOf(one, key);
      expect(after.sites.size).toBe(0);
      expect(after.tries).toMatchObject([{ token: "t1", fate: "useless", isAccepted: true }]);
    });

    it("keeps a doubt about a refresh, whatever becomes of its token", async () => {
      const { one, other, key } = await open();
      await one.note(key, { kind: "tried", token: "t1", site: "S1", isDoubted: true });
      await one.note(key, { kind: "tried", token: "t2", site: "S1", isDoubted: true });
      await other.note(key, { kind: "tried", token: "t2", site: "S1", isDoubted: false });
      await other.note(key, { kind: "cured", token: "t1", site: "S1" });
      await other.note(key, { kind: "accepted", token: "t2", site: "S1" });
      await other.note(key, { kind: "cured", token: "t3", site: "S1" });
      const { tries } = await conductOf(one, key);
      const doubts = Object.fromEntries(tries.map(({ token, isDoubted }) => [token, isDoubted]));
      expect(doubts).toEqual({ t1: true, t2: true, t3: false });
      await other.note(key, useless("t2", 30_000));
      expect((await conductOf(one, key)).tries.find(({ token }) => token === "t2")?.isDoubted).toBe(true);
    });

    it("never takes back that a refresh has cured a request", async () => {
      const { one, other, key } = await open();
      await one.note(key, useless("t1", 30_000));
      await other.note(key, { kind: "cured", token: "t1", site: "S1" });
      await one.note(key, useless("t1", 30_000));
      await one.note(key, { kind: "tried", token: "t1", site: "S1", isDoubted: false });
      await one.note(key, { kind: "accepted", token: "t1", site: "S1" });
      const { sites, tries } = await conductOf(other, key);
      expect(sites.size).toBe(0);
      expect(tries.map(({ token, fate }) => [token, fate])).toEqual([["t1", "cured"]]);
    });

    it("remembers a site's pause when it is over, so that the next can be longer", async () => {
      const { one, other, key, pass } = await open();
      await one.note(key, useless("t1", 50));
      await pass(60);
      expect((await conductOf(other, key)).sites.get("S1")).toEqual({ pauseMs: 50, remainingMs: 0 });
    });

    it("keeps the newest 32 forced refreshes, however many there are", async () => {
      const { one, key, pass } = await open();
      for (let n = 0; n < 40; n++) {
        await one.note(key, { kind: "tried", token: `t${n}`, site: "S1", isDoubted: false });
        await pass(2);
      }
      const { tries } = await conductOf(one, key);
      expect(tries).toHaveLength(32);
      expect(tries.at(-1)?.token).toBe("t39");
    });
  });
}
