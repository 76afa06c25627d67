import { describe, expect, it } from "vitest";
import { type EndpointPause, everySite, type StoredToken, type TokenStore } from "../../src/oauth/token-store.ts";
import { issued } from "../issued-token.ts";

/** A store under test, as two holders see it, a key that nobody has used, and a way to let its time pass. */
export interface StoreUnderTest {
  readonly one: TokenStore;
  readonly other: TokenStore;
  readonly key: string;
  readonly pass: (ms: number) => Promise<void>;
}

/** The promises of every token store; the same suite runs on each. */
export function describeTokenStore(name: string, open: () => Promise<StoreUnderTest>): void {
  const token = (text: string, lifetimeMs = 60_000) => issued(text, lifetimeMs);
  const textOf = (stored: StoredToken | undefined) => stored?.secret.reveal();

  describe(`a token store (${name})`, () => {
    it("is empty at first", async () => {
      const { one, key } = await open();
      const { token, limits } = await one.read(key, ["S1"]);
      expect(token).toBeUndefined();
      expect(limits).toEqual({ endpoint: undefined, forced: new Map() });
    });

    it("shows a saved token to everyone, with its remaining lifetime", async () => {
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

    it("counts a lifetime from the token request, not from the saving", async () => {
      const { one, other, key } = await open();
      expect((await one.save(key, token("t1"), 20_000)).remainingMs).toBeLessThanOrEqual(40_000);
      expect((await other.read(key)).token?.remainingMs).toBeLessThanOrEqual(40_000);
    });

    it("keeps the newest token, in whichever order tokens are saved, and returns it to the saver", async () => {
      const { one, other, key } = await open();
      await one.save(key, token("t1"), 10_000);
      expect(textOf(await other.save(key, token("t2"), 5_000))).toBe("t2");
      expect(textOf(await one.save(key, token("late"), 8_000))).toBe("t2");
      expect(textOf((await one.read(key)).token)).toBe("t2");
    });

    it("returns a token that has expired before it is saved, and does not keep it", async () => {
      const { one, key } = await open();
      expect(textOf(await one.save(key, token("t1", 1_000), 1_500))).toBe("t1");
      expect((await one.read(key)).token).toBeUndefined();
    });

    it("keeps keys apart", async () => {
      const { one, other, key } = await open();
      await one.save(`${key}1`, token("t1"), 0);
      await one.save(`${key}2`, token("t2"), 0);
      await one.countForced(`${key}1`, new Map([["S1", { useless: 4, spentMs: 0 }]]));
      expect(textOf((await other.read(`${key}1`)).token)).toBe("t1");
      expect(textOf((await other.read(`${key}2`)).token)).toBe("t2");
      expect((await other.read(`${key}2`, ["S1"])).limits?.forced.size).toBe(0);
    });

    it("forgets a token when it expires", async () => {
      const { one, key, pass } = await open();
      await one.save(key, token("t1", 300), 0);
      await pass(320);
      expect((await one.read(key)).token).toBeUndefined();
    });
  });

  describe(`the limits that replicas share (${name})`, () => {
    const throttled: EndpointPause = { kind: "throttled", status: 429, failures: 3, remainingMs: 60_000 };
    const useless = (counts: Readonly<Record<string, number>>) =>
      new Map(Object.entries(counts).map(([name, useless]) => [name, { useless, spentMs: 600_000 }]));

    const limitsOf = async (store: TokenStore, key: string) => {
      const { limits } = await store.read(key, ["S1", "S2", everySite]);
      if (limits === undefined) throw new Error("the store could not be read");
      return limits;
    };

    it("say for how long no token may be requested", async () => {
      const { one, other, key, pass } = await open();
      await one.pause(key, throttled);
      await pass(100);
      const { endpoint } = await limitsOf(other, key);
      expect(endpoint).toMatchObject({ kind: "throttled", status: 429, failures: 3 });
      expect(endpoint?.remainingMs).toBeLessThanOrEqual(59_910);
      expect(endpoint?.remainingMs).toBeGreaterThan(40_000);
    });

    it("give the pause alone, also under a key that has no token", async () => {
      const { one, other, key } = await open();
      expect(await other.readPause(key)).toBeUndefined();
      await one.pause(key, throttled);
      expect(await other.readPause(key)).toMatchObject({ kind: "throttled", status: 429, failures: 3 });
      expect((await other.readPause(key))?.remainingMs).toBeGreaterThan(40_000);
    });

    it("keep the longer of two pauses", async () => {
      const { one, other, key } = await open();
      await one.pause(key, throttled);
      await other.pause(key, { ...throttled, kind: "failing", status: 503, remainingMs: 1_000 });
      expect((await limitsOf(other, key)).endpoint?.kind).toBe("throttled");
      await other.pause(key, { ...throttled, kind: "refused", status: 401, remainingMs: 90_000 });
      expect((await limitsOf(one, key)).endpoint?.kind).toBe("refused");
    });

    it("end a pause when its time is over, except for its count of failures, and when a token is requested later", async () => {
      const { one, other, key, pass } = await open();
      await one.pause(key, { ...throttled, remainingMs: 200 });
      await pass(220);
      expect((await limitsOf(other, key)).endpoint).toMatchObject({ remainingMs: 0, failures: 3 });
      await one.pause(key, throttled);
      await pass(5);
      await other.save(key, token("t1"), 0);
      expect((await limitsOf(one, key)).endpoint).toBeUndefined();
    });

    it("do not end a pause for a token that was requested before the pause", async () => {
      const { one, other, key } = await open();
      await one.pause(key, throttled);
      await other.save(key, token("t1"), 30_000);
      expect((await limitsOf(one, key)).endpoint?.kind).toBe("throttled");
    });

    it("count forced refreshes by name, and say how long ago the last one was", async () => {
      const { one, other, key, pass } = await open();
      await one.countForced(key, useless({ S1: 5, [everySite]: 1 }));
      await pass(100);
      const { forced: known } = await limitsOf(other, key);
      expect([...known].map(([name, { useless }]) => [name, useless])).toEqual([
        ["S1", 5],
        [everySite, 1],
      ]);
      expect(known.get("S1")?.spentMs).toBe(600_000);
      expect(known.get("S1")?.ageMs).toBeGreaterThanOrEqual(90);
      expect(known.get("S1")?.ageMs).toBeLessThan(20_000);
    });

    it("replace a count by the next one, also by 0", async () => {
      const { one, other, key, pass } = await open();
      await one.countForced(key, useless({ S1: 5, S2: 4 }));
      await pass(100);
      await other.countForced(key, useless({ S1: 0 }));
      const { forced: known } = await limitsOf(one, key);
      expect(known.get("S1")?.useless).toBe(0);
      expect(known.get("S2")?.ageMs).toBeGreaterThan(known.get("S1")?.ageMs ?? 0);
      expect(known.has(everySite)).toBe(false);
    });

    it("are read only for the requested names", async () => {
      const { one, other, key } = await open();
      await one.countForced(key, useless({ S1: 5, S2: 4 }));
      expect([...((await other.read(key, ["S2"])).limits?.forced.keys() ?? [])]).toEqual(["S2"]);
      expect((await other.read(key)).limits?.forced.size).toBe(0);
    });
  });
}
