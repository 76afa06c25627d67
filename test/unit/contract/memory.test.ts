import { createMemoryClaimRecords } from "../../../src/adapters/memory/claim-records.ts";
import { createMemoryRefreshLock, createMemoryTokenStore } from "../../../src/adapters/memory/token-store.ts";
import { Claims } from "../../../src/claims/claim.ts";
import { describeClaimStore } from "../../../testkit/contract/claim-store.ts";
import { describeRefreshLock } from "../../../testkit/contract/refresh-lock.ts";
import { describeTokenStore } from "../../../testkit/contract/token-store.ts";
import { FakeClock } from "../../../testkit/fake-clock.ts";

describeTokenStore("memory", async () => {
  const clock = new FakeClock();
  const store = createMemoryTokenStore(clock);
  return { one: store, other: store, key: "key", pass: (ms) => clock.advance(ms) };
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
