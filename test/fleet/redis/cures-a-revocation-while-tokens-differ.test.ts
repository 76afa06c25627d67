/** Row 39: replicas hold different tokens and all are revoked: at most one 401 each, no pause, one token request. */
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { startRedis } from "../../../testkit/redis.ts";
import type { Stage } from "../../../testkit/stage.ts";
import { stagePod } from "./pod.ts";

/** Due after 12.8 s in one replica, after 14 s in the other. */
const tokenLifetimeSeconds = 16;
const early = () => 0;
const late = () => 0.999;

it("each replica passes on one 401 at the most, and one token serves both", async () => {
  const { port } = await startRedis();
  const stage = (random: () => number, shared?: Stage) =>
    stagePod(port, {}, shared, { surroundings: { random }, simulator: { tokenLifetimeSeconds } });
  const first = await stage(early);
  const second = await stage(late, first);
  const { simulator } = first;
  const lastToken = () => simulator.seen.apiRequests.at(-1)?.token;
  for (const { url } of [first, second]) expect((await call(url)).status).toBe(200);
  await first.recorder.nth("token_adopted", 2);
  expect((await call(first.url)).status).toBe(200);
  expect(lastToken()).toBe("token_2");
  expect((await call(second.url)).status).toBe(200);
  expect(lastToken()).toBe("token_1");

  simulator.revokeAllTokens();
  await call(second.url);
  for (const { url } of [second, first]) {
    expect((await call(url)).status).toBe(200);
    expect(lastToken()).toBe("token_3");
  }
  expect(simulator.counts().tokenRequests).toBe(3);
});
