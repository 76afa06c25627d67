import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Secret } from "../../src/model/secret.ts";
import type { KeyUse, OnceStore } from "../../src/proxy/once-store.ts";
import { sealKey } from "../redis-replica.ts";

export interface OnceStoreStage {
  /** Two views of one store, as two replicas have it. */
  readonly one: OnceStore;
  readonly other: OnceStore;
  /** Lets so much time pass. */
  pass(ms: number): Promise<void>;
}

/** @param keys those that the other replica seals with; the first one has one */
type Open = (keys?: readonly [Secret, ...Secret[]]) => Promise<OnceStoreStage>;

/** The contract of the port OnceStore. */
export function describeOnceStore(open: Open): void {
  const newScope = () => ["sandbox", "S1", randomBytes(16).toString("hex")];
  const useOf = (scope: readonly string[], requestId: string, more: Partial<KeyUse> = {}): KeyUse => {
    return { scope, requestId, content: "create_order {}", leaseMs: 10_000, lifetimeMs: 60_000, ...more };
  };

  describe("the store of keys in Redis", () => {
    it("lets one of several claim a key, and tells the others which", async () => {
      const { one, other } = await open();
      const scope = newScope();
      const uses = Array.from({ length: 20 }, (_, index) => useOf(scope, `request-${index}`));
      const found = await Promise.all(uses.map((use, index) => (index % 2 ? one : other).claim(use)));
      const winner = found.indexOf(undefined);
      const others = found.filter((first) => first !== undefined);
      expect(others).toHaveLength(19);
      for (const first of others) {
        expect(first).toMatchObject({ requestId: `request-${winner}`, end: undefined, isSame: true });
      }
    });

    it.each([
      { outcome: "answered", status: 201 },
      { outcome: "unknown", status: 502 },
      { outcome: "unknown", status: undefined },
    ] as const)("tells everyone how the first ended: $outcome $status", async (end) => {
      const { one, other } = await open();
      const scope = newScope();
      await one.claim(useOf(scope, "a"));
      await one.recordEnd(useOf(scope, "a"), end);
      expect(await other.claim(useOf(scope, "b"))).toMatchObject({ requestId: "a", end, isSame: true });
    });

    it("frees the key of a request that was not sent, and of no other", async () => {
      const { one, other } = await open();
      const scope = newScope();
      await one.claim(useOf(scope, "a"));
      await other.recordEnd(useOf(scope, "b"), { outcome: "not_sent" });
      await other.recordEnd(useOf(scope, "b"), { outcome: "answered", status: 200 });
      expect(await other.claim(useOf(scope, "b"))).toMatchObject({ requestId: "a", end: undefined });
      await one.recordEnd(useOf(scope, "a"), { outcome: "not_sent" });
      expect(await other.claim(useOf(scope, "b"))).toBeUndefined();
    });

    it("takes a claim whose process has died for unknown after its lease, and never frees it", async () => {
      const { one, other, pass } = await open();
      const scope = newScope();
      await one.claim(useOf(scope, "a", { leaseMs: 100 }));
      await pass(200);
      expect(await other.claim(useOf(scope, "b"))).toMatchObject({ requestId: "a", end: { outcome: "unknown" } });
    });

    it("knows another content by its digest", async () => {
      const { one, other } = await open();
      const scope = newScope();
      await one.claim(useOf(scope, "a"));
      expect(await other.claim(useOf(scope, "b", { content: "create_order" }))).toMatchObject({ isSame: false });
    });

    it("compares what was digested with an older key, and takes for the same what it cannot compare", async () => {
      const rolled = await open([sealKey(8), sealKey()]);
      const scope = newScope();
      await rolled.one.claim(useOf(scope, "a"));
      expect(await rolled.other.claim(useOf(scope, "b"))).toMatchObject({ isSame: true });
      expect(await rolled.other.claim(useOf(scope, "b", { content: "?" }))).toMatchObject({ isSame: false });
      const replaced = await open([sealKey(8)]);
      expect(await replaced.other.claim(useOf(scope, "b", { content: "?" }))).toMatchObject({ isSame: true });
    });

    it("forgets a key when its lifetime is over, counted from its end", async () => {
      const { one, other, pass } = await open();
      const scope = newScope();
      const use = useOf(scope, "a", { lifetimeMs: 300 });
      await one.claim(use);
      await one.recordEnd(use, { outcome: "answered", status: 200 });
      await pass(400);
      expect(await other.claim(useOf(scope, "b"))).toBeUndefined();
    });
  });
}
