/** Rotation with two keys. Replicas with the old key, both keys and the new key share one Redis and one authorization server. */
import { expect, it } from "vitest";
import type { Secret } from "../../../src/model/secret.ts";
import { call } from "../../../testkit/call.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { sealKey } from "../../../testkit/redis-replica.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { type Stage, stage } from "../../../testkit/stage.ts";

const [oldKey, newKey] = [sealKey(1), sealKey(2)];

it("[old], [old, new], [new, old], [new] need no extra token", async () => {
  const { stages, issued, revoke } = await stageWithKeys(
    await startRedis(),
    [oldKey],
    [oldKey, newKey],
    [oldKey, newKey],
    [newKey, oldKey],
  );
  expect(issued()).toBe(1);
  const [byOld, , byBoth, byNewFirst] = stages;
  // Whichever replica refreshes, all replicas can read the token.
  for (const [refresher, others] of [
    [byOld, stages.slice(0, 3)],
    [byBoth, stages],
    [byNewFirst, stages.slice(1)],
  ] as const) {
    const before = issued();
    revoke();
    for (const staged of [refresher, ...others]) expect((await call(staged?.url ?? "")).status).toBe(200);
    expect(issued()).toBe(before + 1);
  }
});

it("[old], [new, old], [new] need one extra token", async () => {
  const { stages, issued, revoke } = await stageWithKeys(await startRedis(), [oldKey], [newKey, oldKey]);
  const [byOld, byBoth] = stages;
  expect(issued()).toBe(1);
  revoke();
  // The new key seals; to a replica with the old key only, the value looks damaged, and it requests one more token.
  for (const staged of [byBoth, byOld, byBoth, byOld]) expect((await call(staged?.url ?? "")).status).toBe(200);
  expect(issued()).toBe(3);
});

/** Proxies that differ in their keys only; the first one's simulator serves all. */
async function stageWithKeys(redis: RealRedis, ...keys: readonly (readonly [Secret, ...Secret[]])[]) {
  const clock = new ShiftedClock();
  const stages: Stage[] = [];
  for (const encryptionKeys of keys) {
    const staged = await stage("replica", redis.port, { encryptionKeys }, stages[0], { surroundings: { clock } });
    expect((await call(staged.url)).status).toBe(200);
    stages.push(staged);
  }
  const service = stages[0]?.simulator ?? expect.unreachable();
  return {
    stages,
    issued: () => service.counts().tokensIssued,
    /** The token is revoked, and the next refreshes are allowed again. */
    revoke() {
      service.revokeAllTokens();
      clock.push(1_000);
    },
  };
}
