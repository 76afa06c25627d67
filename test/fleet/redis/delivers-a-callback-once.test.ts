/**
 * Replicas that share a Redis hand a callback to the application once, and say so if they cannot know whether it
 * was handed over; also callbacks that are repeated after six hours, though one of the replicas is killed.
 */
import { expect, it } from "vitest";
import { sleep, systemClock } from "../../../src/model/clock.ts";
import { inParallel } from "../../../testkit/in-parallel.ts";
import { type RedisOptions, startRedis } from "../../../testkit/redis.ts";
import { openReplica, patientClock } from "../../../testkit/redis-replica.ts";
import { accepts, startApplication } from "../../../testkit/stage/callbacks.ts";
import { callbackOf, expectProblem, freshCallback, sendJson } from "../../promises/callbacks/sender.ts";
import { type CallbackPod, startCallbackPods } from "./callback-pods.ts";
import { refusedWrites } from "./troubles.ts";

const unguardedTotal = "countersign_callbacks_unguarded_total";
const atOnce = 24;
const fullRefuses = { args: ["--maxmemory-policy", "noeviction"] };

it("of forty equal callbacks at the same moment at two processes one reaches the application, and no later one", async () => {
  const { redis, application, pods, callback } = await stage(2);
  application.answerWith((response, received) => setTimeout(() => accepts(response, received), 400));
  const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => sendJson(portOf(pods, n), callback)));
  expect(application.received).toHaveLength(1);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]));
  for (const { port } of pods) expect((await sendJson(port, callback)).status).toBe(200);
  expect(application.received).toHaveLength(1);
  const keys = (await redis.command("KEYS", "*:callback")) as string[];
  expect(keys).toHaveLength(1);
  expect(JSON.stringify([keys, await redis.command("GET", keys[0] ?? "")])).not.toContain(callback["signature"]);
  const ttlMs = Number(await redis.command("PTTL", keys[0] ?? ""));
  expect(ttlMs).toBeGreaterThan(604_800_000);
  expect(ttlMs).toBeLessThanOrEqual(604_860_000);
});

it("a callback that a process could not deliver is delivered by another", async () => {
  const { application, one, other, callback } = await stage(2);
  application.answerWith((response) => response.writeHead(500).end());
  expect((await sendJson(one.port, callback)).status).toBe(500);
  application.answerWith(accepts);
  expect((await sendJson(other.port, callback)).status).toBe(200);
  expect(application.received).toHaveLength(2);
});

it("a callback whose process is killed during the delivery is delivered again, which is counted", async () => {
  const { application, one, other, callback } = await stage(2);
  application.answerWith(() => {});
  const lost = sendJson(one.port, callback).catch(() => "lost");
  await expect.poll(() => application.received.length, { timeout: 5_000 }).toBe(1);
  one.signal("SIGKILL");
  expect(await lost).toBe("lost");
  application.answerWith(accepts);
  expect((await sendJson(other.port, callback)).status).toBe(503);
  await expect
    .poll(async () => (await sendJson(other.port, callback)).status, { timeout: 60_000, interval: 500 })
    .toBe(200);
  expect(application.received).toHaveLength(2);
  expect((await other.metrics()).sum(unguardedTotal)).toBe(1);
});

it.each([
  ["strict", 503, 0],
  ["best_effort", 200, 1],
])("without Redis, %s answers %i", async (replay, status, count) => {
  const { redis, application, one } = await stage(1, replay);
  const { port } = one;
  expect((await sendJson(port, freshCallback())).status).toBe(200);
  const unguarded = async () => (await one.metrics()).sum(unguardedTotal);
  // On a busy machine the first claim may have taken too long.
  const before = await unguarded();
  await redis.kill();
  const answer = await sendJson(port, callbackOf({ number: "during the outage" }));
  expect(answer.status).toBe(status);
  expect(application.received).toHaveLength(1 + count);
  if (status === 503) {
    expectProblem(answer, "replay_store_unavailable");
    expect(answer.headers["retry-after"]).toBe("1");
  }
  expect((await unguarded()) - before).toBe(count);
  await redis.restart();
  await expect.poll(async () => (await sendJson(port, freshCallback())).status, { timeout: 10_000 }).toBe(200);
});

it("a Redis that is full accepts no claim: strict answers that the callback should come again", async () => {
  const { redis, application, one } = await stage(1, "strict", fullRefuses);
  await redis.config("maxmemory", "1");
  expect((await sendJson(one.port, freshCallback())).status).toBe(503);
  expect(application.received).toEqual([]);
});

it("a claim that Redis took after its timeout does not block the callback once Redis is back", async () => {
  const { redis, application, one, other, callback } = await stage(2);
  for (const { port } of [one, other]) expect((await sendJson(port, freshCallback())).status).toBe(200);
  redis.stop();
  expectProblem(await sendJson(one.port, callback), "replay_store_unavailable");
  redis.cont();
  // The lease lasts 7 s.
  await expect
    .poll(async () => (await sendJson(other.port, callback)).status, { timeout: 5_000, interval: 250 })
    .toBe(200);
  expect(application.received).toHaveLength(3);
});

it("a callback that was accepted while Redis was away is known to all replicas once Redis is back", async () => {
  const { redis, application, one, other, callback } = await stage(2);
  application.answerWith((response, received) => void redis.kill().then(() => accepts(response, received)));
  expect((await sendJson(one.port, callback)).status).toBe(200);
  await redis.restart();
  // Redis comes back empty: without the mark the application would get the callback a second time.
  await expect.poll(() => redis.command("KEYS", "*:callback"), { timeout: 5_000 }).toHaveLength(1);
  await expect.poll(async () => (await sendJson(other.port, callback)).status, { timeout: 5_000 }).toBe(200);
  expect(application.received).toHaveLength(1);
});

it.each(refusedWrites)(
  "%s between claim and mark: delivered once, and the mark is written without a request before another replica takes the claim over",
  async (_, { begin, end }) => {
    const { redis, application, one, other, callback } = await stage(2, "strict", fullRefuses);
    await end(redis);
    application.answerWith((response, received) => void begin(redis).then(() => accepts(response, received)));
    expect((await sendJson(one.port, callback)).status).toBe(200);
    const repeat = async () => (await sendJson(other.port, callback)).status;
    // Longer than the lease of 7 s, so that any replica could take the claim over once Redis accepts writes.
    for (const untilMs = Date.now() + 8_000; Date.now() < untilMs; await sleep(systemClock, 100)) {
      expect(await repeat()).toBe(503);
    }
    await end(redis);
    const statuses = [];
    for (const untilMs = Date.now() + 5_000; statuses.at(-1) !== 200 && Date.now() < untilMs; )
      statuses.push(await repeat());
    expect(statuses.at(-1)).toBe(200);
    expect(application.received).toHaveLength(1);
    const [name = ""] = (await redis.command("KEYS", "*:callback")) as string[];
    expect(await redis.command("GET", name)).toMatch(/ settled \S+ \S+ 200$/);
  },
);

it("a thousand callbacks, repeated unchanged after six hours, are delivered once each over three replicas", async () => {
  const [count, away, killAfter, hoursAway] = [1_000, 200, 400, 6];
  const { application, fleet, pods, one: victim } = await stage(3);
  const living = new Set(pods);
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const callbacks = Array.from({ length: count }, (_, index) => {
    const ageSeconds = Math.floor((hoursAway * 3_600 * (count - index)) / count);
    return callbackOf({ number: `n${index}`, timestamp: String(nowSeconds - ageSeconds) });
  });

  await application.stop();
  const refused = await inParallel(atOnce, callbacks.slice(0, away), async (callback, index) => {
    return (await sendJson(portOf(pods, index), callback)).status;
  });
  expect(new Set(refused)).toEqual(new Set([502]));
  await application.restart();

  // The application waits a moment, so that the killed replica has callbacks under way.
  application.answerWith((response, received) => {
    if (application.received.length === killAfter) {
      living.delete(victim);
      victim.signal("SIGKILL");
    }
    setTimeout(() => accepts(response, received), 20);
  });
  /** Callbacks that the killed replica had under way: nobody knows whether the application has accepted them. */
  const cutOff = new Set<string>();
  const statuses = await inParallel(atOnce, callbacks, async (callback, index) => {
    for (let tries = index; ; tries += 1) {
      const pod = [...living][tries % living.size] as CallbackPod;
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
      await sleep(systemClock, status === 503 ? 500 : 0);
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
  // Each callback that may have been delivered twice is counted, and no other.
  const unguarded = await fleet.sum(unguardedTotal);
  expect(unguarded).toBeGreaterThanOrEqual(twice.length);
  expect(unguarded).toBeLessThanOrEqual(cutOff.size);

  for (const callback of callbacks.slice(0, 50)) {
    expect((await sendJson(portOf([...living], 0), callback)).status).toBe(200);
  }
  expect(application.received).toHaveLength(count + twice.length);
});

it("a remembered callback takes less than 400 bytes of Redis", async () => {
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
  await inParallel(atOnce, Array.from({ length: many }), (_, index) => remember(index + 1));
  const bytesEach = ((await usedBytes()) - before) / many;
  expect(bytesEach).toBeLessThan(400);
});

const portOf = (pods: readonly CallbackPod[], index: number) => pods[index % pods.length]?.port ?? 0;

/** So many processes that share a Redis and lead to one application, and a callback that is new to all. */
async function stage(count: number, replay = "strict", redisOptions: RedisOptions = {}) {
  const redis = await startRedis(redisOptions);
  const application = await startApplication();
  const { fleet, pods } = await startCallbackPods(count, application, { redis, replay });
  const [one = expect.unreachable(), other = one] = pods;
  return { redis, application, fleet, pods, one, other, callback: freshCallback() };
}
