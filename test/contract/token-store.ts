import { describe, expect, it } from "vitest";
import { Secret } from "../../src/secret.ts";
import type { TokenStore } from "../../src/tokens/store.ts";

/** A store under test, seen by two holders, and a way to let its time pass. */
export interface StoreUnderTest {
  readonly one: TokenStore;
  readonly other: TokenStore;
  readonly pass: (ms: number) => Promise<void>;
}

/** What every token store promises; the same suite runs on each of them. */
export function describeTokenStore(name: string, open: () => Promise<StoreUnderTest>): void {
  const token = (text: string, lifetimeMs = 60_000) => ({ secret: new Secret(text), lifetimeMs });

  describe(`a token store (${name})`, () => {
    it("knows nothing at first", async () => {
      const { one } = await open();
      expect(await one.read("key")).toBeUndefined();
    });

    it("shows a saved token to everyone, with the life that is left of it", async () => {
      const { one, other, pass } = await open();
      const saved = await one.save("key", token("t1"));
      expect(saved.secret.reveal()).toBe("t1");
      expect(saved.remainingMs).toBeGreaterThan(59_000);
      await pass(1_000);
      const read = await other.read("key");
      expect(read?.secret.reveal()).toBe("t1");
      expect(read?.issue).toBe(saved.issue);
      expect(read?.lifetimeMs).toBe(60_000);
      expect(read?.remainingMs).toBeLessThanOrEqual(59_000);
      expect(read?.remainingMs).toBeGreaterThan(50_000);
    });

    it("keeps the newest: the order of issue grows with each save, whoever saves", async () => {
      const { one, other } = await open();
      const first = await one.save("key", token("t1"));
      const second = await other.save("key", token("t2"));
      expect(second.issue).toBeGreaterThan(first.issue);
      expect((await one.read("key"))?.secret.reveal()).toBe("t2");
    });

    it("keeps keys apart", async () => {
      const { one, other } = await open();
      await one.save("key-1", token("t1"));
      await one.save("key-2", token("t2"));
      expect((await other.read("key-1"))?.secret.reveal()).toBe("t1");
      expect((await other.read("key-2"))?.secret.reveal()).toBe("t2");
      expect(await other.read("key-3")).toBeUndefined();
    });

    it("forgets a token at the end of its life", async () => {
      const { one, pass } = await open();
      await one.save("key", token("t1", 1_000));
      await pass(1_001);
      expect(await one.read("key")).toBeUndefined();
    });
  });
}
