/**
 * All tokens are revoked while replicas hold different ones: one has refreshed already, the other's is not due yet. The other
 * finds the refreshed token in the cache, which is no better; that is nobody's fault, so it costs one 401 at the most, and
 * the next request is cured by one token request (product, section 4: only a newly issued token that is refused makes a
 * site pause; row 39: real 401s are cured at once).
 */
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { accessTo, nodeAt } from "../../../testkit/redis-replica.ts";
import { type Stage, stageProxy } from "../../../testkit/stage.ts";

/** Due after 12.8 s in one replica, after 14 s in the other. */
const tokenLifetimeSeconds = 16;
const early = () => 0;
const late = () => 0.999;

it("each replica passes on one 401 at the most, and one token serves both", async () => {
  const { port } = await startRedis();
  const stage = async (random: () => number, shared?: Stage) => {
    const replica = await stageProxy({
      oneSet: true,
      config: { tokens: { cache: "redis", redis: accessTo(nodeAt(port)) } },
      surroundings: { random },
      simulator: { tokenLifetimeSeconds },
      ...(shared && { baseUrl: shared.simulator.apiUrl, authUrl: shared.simulator.loginUrl }),
    });
    await replica.recorder.nth("token_adopted", 1);
    return replica;
  };
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
}, 40_000);
