import { describe, expect, it } from "vitest";
import type { Lease, RefreshLock } from "../../src/oauth/token-store.ts";

/** A lock under test, as two holders see it. */
export interface LockUnderTest {
  readonly one: RefreshLock;
  readonly other: RefreshLock;
  /** A key that nobody has used. */
  readonly key: string;
}

/** @throws if the lock is not free */
export async function acquire(lock: RefreshLock, key: string): Promise<Lease> {
  const lease = await lock.tryAcquire(key);
  if (typeof lease === "string") throw new Error(`not acquired: ${lease}`);
  return lease;
}

/** The promises of every refresh lock; the same suite runs on each. */
export function describeRefreshLock(name: string, open: () => Promise<LockUnderTest>): void {
  describe(`a refresh lock (${name})`, () => {
    it("is held by one holder at a time, and says without waiting that it is held", async () => {
      const { one, other, key } = await open();
      const lease = await acquire(one, key);
      expect(await other.tryAcquire(key)).toBe("held");
      expect(await one.tryAcquire(key)).toBe("held");
      await lease.release();
    });

    it("is free again after its release", async () => {
      const { one, other, key } = await open();
      await (await acquire(one, key)).release();
      await (await acquire(other, key)).release();
    });

    it("keeps keys apart", async () => {
      const { one, other, key } = await open();
      const leases = [await acquire(one, `${key}-1`), await acquire(other, `${key}-2`)];
      for (const lease of leases) await lease.release();
    });

    it("is not taken from the next holder by a second release", async () => {
      const { one, other, key } = await open();
      const first = await acquire(one, key);
      await first.release();
      const second = await acquire(other, key);
      await first.release();
      expect(await one.tryAcquire(key)).toBe("held");
      await second.release();
    });

    it("has one winner among many who try together", async () => {
      const { one, other, key } = await open();
      const tried = await Promise.all(
        Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? one : other).tryAcquire(key)),
      );
      const won = tried.filter((lease) => typeof lease !== "string");
      expect(won).toHaveLength(1);
      expect(tried.filter((lease) => lease === "held")).toHaveLength(19);
      for (const lease of won) if (typeof lease !== "string") await lease.release();
    });
  });
}
