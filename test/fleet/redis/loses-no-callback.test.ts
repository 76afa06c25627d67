/** Row 85: callbacks of six hours reach the application through three replicas, each once, though one of them is killed. */
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { scrape } from "../../../testkit/exposition.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { openReplica, patientClock } from "../../../testkit/redis-replica.ts";
import { callbackOf } from "../../promises/callbacks/sender.ts";
import { accepts, sendJson, startApplication } from "../../promises/callbacks/stage.ts";
import { type Pod, startPods } from "./callback-pods.ts";

const count = 1_000;
const away = 200;
const killAfter = 400;
const senders = 24;
const hoursAway = 6;

it("a thousand callbacks, repeated unchanged after six hours, are delivered once each over three replicas", async () => {
  const redis = await startRedis();
  const application = await startApplication();
  const pods = await startPods(3, redis, application);
  const [victim] = pods as [Pod, ...Pod[]];
  const living = new Set(pods);
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const callbacks = Array.from({ length: count }, (_, index) => {
    const ageSeconds = Math.floor((hoursAway * 3_600 * (count - index)) / count);
    return callbackOf({ number: `n${index}`, timestamp: String(nowSeconds - ageSeconds) });
  });

  await application.stop();
  const refused = await inParallel(callbacks.slice(0, away), async (callback, index) => {
    return (await sendJson(pods[index % pods.length]?.port ?? 0, callback)).status;
  });
  expect(new Set(refused)).toEqual(new Set([502]));
  await application.restart();

  // A moment in the application, so that the killed replica is in the middle of some.
  application.answerWith((response, received) => {
    if (application.received.length === killAfter) {
      living.delete(victim);
      process.kill(victim.pid, "SIGKILL");
    }
    setTimeout(() => accepts(response, received), 20);
  });
  /** What the killed replica had in its hands: whether the application has taken it, nobody knows. */
  const cutOff = new Set<string>();
  const statuses = await inParallel(callbacks, async (callback, index) => {
    for (let tries = index; ; tries += 1) {
      const pod = [...living][tries % living.size] as Pod;
      const status = await sendJson(pod.port, callback).then(
        (answer) => answer.status,
        () => "cut off",
      );
      if (status === 200) return status;
      expect(["cut off", 503]).toContain(status);
      if (status === "cut off") {
        expect(pod).toBe(victim);
        cutOff.add(String(callback["number"]));
      }
      await pause(status === 503 ? 500 : 0);
    }
  });
  expect(statuses).toHaveLength(count);

  const times = new Map<string, number>();
  for (const { body } of application.received) {
    const { number } = JSON.parse(body.toString()) as { readonly number: string };
    times.set(number, (times.get(number) ?? 0) + 1);
  }
  expect(times.size).toBe(count);
  const twice = [...times].filter(([, delivered]) => delivered > 1);
  for (const [number, delivered] of twice) expect([number, delivered, cutOff.has(number)]).toEqual([number, 2, true]);
  const unguarded = await Promise.all(
    [...living].map(async ({ adminUrl }) => {
      return (await scrape(adminUrl)).sum("countersign_callbacks_unguarded_total");
    }),
  );
  // Each that may have come twice is counted, and no other.
  expect(unguarded.reduce((sum, each) => sum + each, 0)).toBeGreaterThanOrEqual(twice.length);
  expect(unguarded.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(cutOff.size);

  for (const callback of callbacks.slice(0, 50)) {
    expect((await sendJson([...living][0]?.port ?? 0, callback)).status).toBe(200);
  }
  expect(application.received).toHaveLength(count + twice.length);
});

it("a callback that is remembered takes less than 400 bytes of Redis", async () => {
  const redis = await startRedis();
  const { claims } = openReplica(redis, patientClock);
  const usedBytes = async () => Number(/^used_memory:(\d+)/m.exec(String(await redis.command("INFO", "memory")))?.[1]);
  const remember = async (index: number) => {
    const key = Buffer.from(String(index).padStart(32, "k")).toString("base64url");
    const holder = `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
    const terms = { kind: "callback", key, holder, note: "n".repeat(22), leaseMs: 15_000, isTakenOver: true } as const;
    const claim = claims.open({ ...terms, lifetimeMs: 604_800_000 });
    await claim.make();
    await claim.settle("200");
  };
  await remember(0);
  const before = await usedBytes();
  const many = 16_384;
  await inParallel(Array.from({ length: many }), (_, index) => remember(index + 1));
  const bytesEach = ((await usedBytes()) - before) / many;
  expect(bytesEach).toBeLessThan(400);
});

/** As many at a time as there are senders. */
async function inParallel<Item, Result>(
  items: readonly Item[],
  task: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const work = async () => {
    while (next < items.length) {
      const index = next;
      next += 1;
      results[index] = await task(items[index] as Item, index);
    }
  };
  await Promise.all(Array.from({ length: senders }, work));
  return results;
}
