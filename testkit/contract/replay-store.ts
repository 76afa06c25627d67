import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { ReplayStore } from "../../src/callbacks/replay-store.ts";

export interface ReplayStoreStage {
  /** Two views of one store, as two replicas have it. */
  readonly one: ReplayStore;
  readonly other: ReplayStore;
  /** Lets so much time pass. */
  pass(ms: number): Promise<void>;
}

const leaseMs = 10_000;
const claimed = { kind: "claimed" };
const inDelivery = { kind: "in_delivery" };

/** The contract of the port ReplayStore; every implementation is held to it. */
export function describeReplayStore(name: string, open: () => Promise<ReplayStoreStage>): void {
  const newKey = () => randomBytes(32).toString("hex");

  describe(`the store of replays in ${name}`, () => {
    it("lets one of several claim a callback", async () => {
      const { one, other } = await open();
      const key = newKey();
      const claims = await Promise.all(
        Array.from({ length: 20 }, (_, index) => (index % 2 ? one : other).claim(key, `holder-${index}`, leaseMs)),
      );
      expect(claims.filter(({ kind }) => kind === "claimed")).toHaveLength(1);
      expect(claims.filter(({ kind }) => kind === "in_delivery")).toHaveLength(19);
    });

    it("knows no callback by another", async () => {
      const { one } = await open();
      expect(await one.claim(newKey(), "a", leaseMs)).toEqual(claimed);
      expect(await one.claim(newKey(), "a", leaseMs)).toEqual(claimed);
    });

    it("tells everyone the receipt of one that was taken", async () => {
      const { one, other } = await open();
      const key = newKey();
      await one.claim(key, "a", leaseMs);
      await one.confirm(key, "200 digest", 60_000);
      expect(await other.claim(key, "b", leaseMs)).toEqual({ kind: "taken", receipt: "200 digest" });
      expect(await one.claim(key, "a", leaseMs)).toEqual({ kind: "taken", receipt: "200 digest" });
    });

    it("lets one that was released be claimed again", async () => {
      const { one, other } = await open();
      const key = newKey();
      await one.claim(key, "a", leaseMs);
      await one.release(key, "a");
      expect(await other.claim(key, "b", leaseMs)).toEqual(claimed);
    });

    it("releases no claim but the holder's own, and nothing that was taken", async () => {
      const { one, other } = await open();
      const key = newKey();
      await one.claim(key, "a", leaseMs);
      await other.release(key, "b");
      expect(await other.claim(key, "b", leaseMs)).toEqual(inDelivery);
      await one.confirm(key, "204 digest", 60_000);
      await one.release(key, "a");
      expect(await other.claim(key, "b", leaseMs)).toEqual({ kind: "taken", receipt: "204 digest" });
    });

    it("lets a claim end by itself, since its process may have died", async () => {
      const { one, other, pass } = await open();
      const key = newKey();
      await one.claim(key, "a", 100);
      await pass(200);
      expect(await other.claim(key, "b", leaseMs)).toEqual(claimed);
    });

    it("keeps what was taken although its claim had ended and another has it", async () => {
      const { one, other, pass } = await open();
      const key = newKey();
      await one.claim(key, "a", 100);
      await pass(200);
      await other.claim(key, "b", leaseMs);
      await one.confirm(key, "200 digest", 60_000);
      await other.release(key, "b");
      expect(await other.claim(key, "c", leaseMs)).toEqual({ kind: "taken", receipt: "200 digest" });
    });

    it("forgets what was taken when its lifetime is over", async () => {
      const { one, other, pass } = await open();
      const key = newKey();
      await one.claim(key, "a", leaseMs);
      await one.confirm(key, "200 digest", 100);
      await pass(200);
      expect(await other.claim(key, "b", leaseMs)).toEqual(claimed);
    });
  });
}
