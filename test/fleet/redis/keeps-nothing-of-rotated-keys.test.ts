/** Each rotated secret has a cache key of its own. One that is used no more leaves nothing in this process. */
import { randomBytes } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { Secret } from "../../../src/model/secret.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { openReplica, patientClock } from "../../../testkit/redis-replica.ts";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

const rotations = 5_000;
const atOnce = 50;
/** Far longer than a real one, so that what is kept shows in the heap. */
const keyBytes = 4_096;
const newKey = () => randomBytes(keyBytes / 2).toString("hex");

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

it("5,000 released keys take no memory", async () => {
  const { store, recorder } = openReplica(await startRedis(), patientClock);
  const use = async () => {
    const key = newKey();
    await store.read(key);
    await store.save(key, { secret: new Secret("token"), lifetimeMs: 1_000 }, 0);
    store.forget(key);
  };
  const rotate = async (count: number) => {
    for (let n = 0; n < count; n += atOnce) await Promise.all(Array.from({ length: atOnce }, use));
  };
  await rotate(rotations / 10);
  const before = heapBytes();
  await rotate(rotations);
  expect(recorder.of("token_cache_read").some(({ result }) => result === "error")).toBe(false);
  // All keys together would be 20 MB; the events recorded here are small.
  expect(heapBytes() - before).toBeLessThan((rotations * keyBytes) / 2);
});
