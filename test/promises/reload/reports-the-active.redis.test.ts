/** Row 54: what is shown of Redis follows the configuration; alerts read it. */
import { expect, it } from "vitest";
import { startRedis } from "../../../testkit/redis.ts";
import { type Pod, sharingAt, startPod } from "./pod.ts";

/** A pod and two servers that it can be told to share its tokens in. */
async function stage() {
  const [one, other] = [await startRedis(), await startRedis()];
  const pod = await startPod();
  let applied = 0;
  const apply = async (more = "") => {
    applied += 1;
    await pod.apply({ more }, applied);
  };
  return { one, other, pod, apply };
}

/** What `/metrics` and `/status` say of the servers. */
async function shown(pod: Pod) {
  const { families } = await pod.metrics();
  const { redis } = await pod.status();
  return {
    metric: families.get("countersign_redis_up")?.samples.map(({ value }) => value) ?? [],
    status: redis.map(({ isUp }: { isUp: boolean }) => isUp),
  };
}

const up = { metric: [1], status: [true] };
const down = { metric: [0], status: [false] };

it("says nothing more of a server that was down when the configuration left it", async () => {
  const { one, pod, apply } = await stage();
  await apply(sharingAt(one, pod));
  await expect.poll(() => shown(pod)).toEqual(up);
  await one.kill();
  await expect.poll(() => shown(pod), { timeout: 10_000 }).toEqual(down);
  await apply();
  expect(await shown(pod)).toEqual({ metric: [], status: [] });
});

it("does not report the end of the Redis that it has left as that of the one in use", async () => {
  const { one, other, pod, apply } = await stage();
  await apply(sharingAt(one, pod));
  await expect.poll(() => shown(pod)).toEqual(up);
  await apply(sharingAt(other, pod));
  await expect.poll(async () => await one.command("CLIENT", "LIST")).toContain("user=countersign");
  await one.kill();
  await other.kill();
  await expect.poll(() => shown(pod), { timeout: 10_000 }).toEqual(down);
  await other.restart();
  await expect.poll(() => shown(pod), { timeout: 10_000 }).toEqual(up);
  expect(pod.lines("redis_down")).toHaveLength(1);
});
