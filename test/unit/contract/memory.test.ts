import { createMemoryReplayStore } from "../../../src/adapters/memory/replay-store.ts";
import { createMemoryRefreshLock, createMemoryTokenStore } from "../../../src/adapters/memory/token-store.ts";
import { describeRefreshLock } from "../../../testkit/contract/refresh-lock.ts";
import { describeReplayStore } from "../../../testkit/contract/replay-store.ts";
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

describeReplayStore("memory", async () => {
  const clock = new FakeClock();
  const store = createMemoryReplayStore(clock);
  return { one: store, other: store, pass: (ms) => clock.advance(ms) };
});
