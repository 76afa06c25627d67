/** The one timer of a set keeps a token in use alive, lets an unused one expire, and ends with the process. */
import { expect, it } from "vitest";
import { createMemoryTokenStore } from "../../../src/adapters/memory/token-store.ts";
import { sleep } from "../../../src/model/clock.ts";
import { stageTokens } from "../../../testkit/token-stage.ts";

it("fires again though it fired while a refresh after a 401 was suppressed", async () => {
  const stage = stageTokens();
  const { clock, recorder, login } = stage;
  login.lifetimeSeconds = 20;
  const inner = createMemoryTokenStore(clock);
  let delayMs = 0;
  const slowStore = {
    ...inner,
    async read(key: string, names?: readonly string[]) {
      if (delayMs > 0) await sleep(clock, delayMs);
      return inner.read(key, names);
    },
  };
  const { source } = stage.openReplica({ store: slowStore });
  const second = await stage.replace(await source.get(stage.deadline()), "S1", source);
  if (typeof second === "string") throw new Error("a second token");
  // Its retry is not accepted, so the site pauses.
  const dueMs = second.issuedAtMs + 0.84 * second.lifetimeMs;
  await clock.advance(dueMs - clock.nowMs() - 5);
  delayMs = 100;
  const again = source.replace(second, "S1", stage.deadline());
  await clock.advance(200);
  expect(await again).toBe("limited");
  const adopted = recorder.count("token_adopted");
  await clock.advance(60_000);
  expect(recorder.count("token_lapsed") + recorder.count("token_adopted")).toBeGreaterThan(adopted);
  expect(clock.pending).toBe(0);
});

it("is not set again by a refresh that ends after its cache was closed", async () => {
  const { clock, login, openReplica } = stageTokens();
  const { source, members } = openReplica();
  const release = login.hold();
  source.warm();
  await clock.advance(10);
  for (const member of members) member.source.close();
  release();
  await clock.advance(10);
  expect(clock.pending).toBe(0);
});
