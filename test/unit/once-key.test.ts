/** Row 82: a key holds no body while its request waits; only what is charged may be kept. */
import { expect, it } from "vitest";
import { systemClock } from "../../src/model/clock.ts";
import type { PreparedRequest } from "../../src/proxy/messages.ts";
import { OnceKey } from "../../src/proxy/once.ts";
import type { KeyUse, OnceStore } from "../../src/proxy/once-store.ts";
import { openContext } from "./open-context.ts";

async function useOf(value: string): Promise<KeyUse> {
  const uses: KeyUse[] = [];
  const store: OnceStore = { claim: async (use) => void uses.push(use), recordEnd: async () => {} };
  const route = { environment: { name: "sandbox" }, site: { identifier: "S1" }, operation: "create_order" };
  const parameters = [{ name: "note", value, isPlain: true }];
  const prepared = { route, headers: [], parameters } as unknown as PreparedRequest;
  const context = openContext(systemClock, 1_000);
  await OnceKey.open("order-1", prepared, { store, lifetimeMs: 900_000 }, context, systemClock).claim();
  const [use] = uses;
  if (use === undefined) throw new Error("nothing was claimed");
  return use;
}

it("holds a digest of the request, not the request", async () => {
  const { content } = await useOf("x".repeat(1_000_000));
  expect(content.length).toBeLessThan(100);
  expect((await useOf("x".repeat(1_000_000))).content).toBe(content);
  expect((await useOf("x".repeat(1_000_001))).content).not.toBe(content);
});
