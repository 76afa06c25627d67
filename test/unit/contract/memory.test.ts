import { expect, it, vi } from "vitest";
import { createMemoryClaimRecords } from "../../../src/adapters/memory/claim-records.ts";
import { createMemoryRefreshLock, createMemoryTokenStore } from "../../../src/adapters/memory/token-store.ts";
import { Claims } from "../../../src/claims/claim.ts";
import { describeClaimStore } from "../../../testkit/contract/claim-store.ts";
import { describeRefreshLock } from "../../../testkit/contract/refresh-lock.ts";
import { describeTokenStore } from "../../../testkit/contract/token-store.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";
import { issued } from "../../../testkit/issued-token.ts";

describeTokenStore("memory", async () => {
  const clock = new FakeClock();
  const store = createMemoryTokenStore(clock);
  return { one: store, other: store, key: "key", pass: (ms) => clock.advance(ms) };
});

it("the memory store does not search all keys for each new one: ten thousand sites would stop the process", async () => {
  const clock = new FakeClock();
  const looks = vi.spyOn(clock, "nowMs");
  const store = createMemoryTokenStore(clock);
  for (let n = 0; n < 1_000; n++) await store.save(`key-${n}`, issued("t", 60_000), 0);
  expect(looks.mock.calls.length).toBeLessThan(20_000);
});

describeRefreshLock("memory", async () => {
  const lock = createMemoryRefreshLock();
  return { one: lock, other: lock, key: "key" };
});

describeClaimStore("memory", async () => {
  const clock = new FakeClock();
  const store = new Claims(createMemoryClaimRecords(clock), clock);
  return { one: store, other: store, pass: (ms) => clock.advance(ms) };
});
