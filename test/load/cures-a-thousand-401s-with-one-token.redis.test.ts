/** Rows 37 and 38, over processes. */
import { expect, it } from "vitest";
import { type Fleet, startFleet } from "../../testkit/fleet.ts";
import { startRedis } from "../../testkit/redis.ts";
import { undisturbed } from "../../testkit/undisturbed.ts";

async function stage(replicas: number): Promise<Fleet> {
  const { url } = await startRedis();
  return await startFleet({ redis: `{ url: ${url} }`, replicas });
}

it("1,000 concurrent 401s over 8 processes cost one token, twice in a row", async () => {
  await undisturbed(
    () => stage(8),
    async ({ replicas, simulator }) => {
      await Promise.all(replicas.map((replica) => replica.order()));
      for (const revocation of [1, 2]) {
        const before = simulator.counts();
        simulator.revokeAllTokens();
        const answers = await Promise.all(
          replicas.flatMap((replica) => Array.from({ length: 125 }, () => replica.order())),
        );
        const after = simulator.counts();
        const refused = after.unauthorized - before.unauthorized;
        expect(after.tokenRequests).toBe(1 + revocation);
        expect(answers.filter(({ status }) => status === 200)).toHaveLength(1_000);
        expect(after.accepted - before.accepted).toBe(1_000);
        // Each was sent once, and once more after its 401: never a third time.
        expect(after.apiRequests - before.apiRequests).toBe(1_000 + refused);
        expect(answers.filter(({ headers }) => headers["countersign-attempts"] === "2")).toHaveLength(refused);
      }
    },
  );
});

it("a late 401 for an old token does not evict the new one, on any replica", async () => {
  const { replicas, simulator } = await stage(2);
  await Promise.all(replicas.map((replica) => replica.order()));
  const [one = expect.unreachable(), other = expect.unreachable()] = replicas;
  // The first replica's request is judged with the old token, and its 401 comes late.
  const late = simulator.faults.add({ host: "api", kind: "delay", delayMs: 2_000 });
  simulator.revokeAllTokens();
  const slow = one.order();
  await late.whenPlayed(1);
  expect((await other.order()).status).toBe(200);
  expect((await one.order()).status).toBe(200);
  expect((await slow).status).toBe(200);
  for (const replica of replicas) expect((await replica.order()).status).toBe(200);
  expect(simulator.counts().tokenRequests).toBe(2);
  expect(new Set(simulator.seen.apiRequests.slice(-2).map(({ token }) => token))).toEqual(new Set(["token_2"]));
});
