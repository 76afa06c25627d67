/** Rows 74, 85: replicas that share a Redis hand a callback to the application once, and say so when they cannot know. */
import { expect, it } from "vitest";
import { sleep, systemClock } from "../../../src/model/clock.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { callbackOf } from "../../promises/callbacks/sender.ts";
import { accepts, expectProblem, freshCallback, sendJson, startApplication } from "../../promises/callbacks/stage.ts";
import { shares, startPods } from "./callback-pods.ts";
import { states } from "./refused-writes.ts";

/** So many processes that share a Redis and lead to one application, and a callback that none has seen. */
async function stage(count: number, replay = "strict", redisOptions: Parameters<typeof startRedis>[0] = {}) {
  const redis = await startRedis(redisOptions);
  const application = await startApplication();
  const pods = await startPods(count, redis, application, replay);
  const [one, other = one] = pods;
  if (one === undefined || other === undefined) throw new Error("a stage has a process");
  return { redis, application, pods, one, other, callback: freshCallback() };
}

it("of forty at the same moment at two processes one reaches the application, and none later", async () => {
  const { redis, application, pods, callback } = await stage(2);
  const portOf = shares(pods);
  application.answerWith((response, received) => setTimeout(() => accepts(response, received), 400));
  const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => sendJson(portOf(n), callback)));
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

it("one that a process could not deliver is delivered by another", async () => {
  const { application, one, other, callback } = await stage(2);
  application.answerWith((response) => response.writeHead(500).end());
  expect((await sendJson(one.port, callback)).status).toBe(500);
  application.answerWith(accepts);
  expect((await sendJson(other.port, callback)).status).toBe(200);
  expect(application.received).toHaveLength(2);
});

it("one whose process is killed while it delivers is delivered again, which is counted", async () => {
  const { application, one, other, callback } = await stage(2);
  application.answerWith(() => {});
  const lost = sendJson(one.port, callback).catch(() => "lost");
  await expect.poll(() => application.received.length, { timeout: 5_000 }).toBe(1);
  process.kill(one.pid, "SIGKILL");
  expect(await lost).toBe("lost");
  application.answerWith(accepts);
  expect((await sendJson(other.port, callback)).status).toBe(503);
  await expect
    .poll(async () => (await sendJson(other.port, callback)).status, { timeout: 60_000, interval: 500 })
    .toBe(200);
  expect(application.received).toHaveLength(2);
  expect((await scrape(other.adminUrl)).sum("countersign_callbacks_unguarded_total")).toBe(1);
});

it.each([
  ["strict", 503, 0],
  ["best_effort", 200, 1],
])("without Redis, %s answers %i", async (replay, status, count) => {
  const { redis, application, one } = await stage(1, replay);
  const { port } = one;
  expect((await sendJson(port, freshCallback())).status).toBe(200);
  await redis.kill();
  const answer = await sendJson(port, callbackOf({ number: "during the outage" }));
  expect(answer.status).toBe(status);
  expect(application.received).toHaveLength(1 + count);
  if (status === 503) {
    expectProblem(answer, "replay_store_unavailable");
    expect(answer.headers["retry-after"]).toBe("1");
  }
  const { sum } = await scrape(one.adminUrl);
  expect(sum("countersign_callbacks_unguarded_total")).toBe(count);
  await redis.restart();
  await expect.poll(async () => (await sendJson(port, freshCallback())).status, { timeout: 10_000 }).toBe(200);
});

it("a Redis that is full takes no claim: strict asks to come again", async () => {
  const { redis, application, one } = await stage(1, "strict", { args: ["--maxmemory-policy", "noeviction"] });
  await redis.config("maxmemory", "1");
  expect((await sendJson(one.port, freshCallback())).status).toBe(503);
  expect(application.received).toEqual([]);
});

it("a claim that Redis took too late to say so keeps the callback from no replica once Redis is back", async () => {
  const { redis, application, one, other, callback } = await stage(2);
  for (const { port } of [one, other]) expect((await sendJson(port, freshCallback())).status).toBe(200);
  redis.stop();
  expectProblem(await sendJson(one.port, callback), "replay_store_unavailable");
  redis.cont();
  // The lease is of 7 s.
  await expect
    .poll(async () => (await sendJson(other.port, callback)).status, { timeout: 5_000, interval: 250 })
    .toBe(200);
  expect(application.received).toHaveLength(3);
});

it("one that was taken while Redis was away is known to all replicas once it is back", async () => {
  const { redis, application, one, other, callback } = await stage(2);
  application.answerWith((response, received) => void redis.kill().then(() => accepts(response, received)));
  expect((await sendJson(one.port, callback)).status).toBe(200);
  await redis.restart();
  // It comes back empty: without the mark the application would get the callback a second time.
  await expect.poll(() => redis.command("KEYS", "*:callback"), { timeout: 5_000 }).toHaveLength(1);
  await expect.poll(async () => (await sendJson(other.port, callback)).status, { timeout: 5_000 }).toBe(200);
  expect(application.received).toHaveLength(1);
});

it.each(states)(
  "%s between claim and mark: delivered once, and the mark comes by itself before any replica takes the claim over",
  async (_, refuse, accept) => {
    const { redis, application, one, other, callback } = await stage(2, "strict", {
      args: ["--maxmemory-policy", "noeviction"],
    });
    await accept(redis);
    application.answerWith((response, received) => void refuse(redis).then(() => accepts(response, received)));
    expect((await sendJson(one.port, callback)).status).toBe(200);
    const repeat = async () => (await sendJson(other.port, callback)).status;
    // Beyond the lease of 7 s, so that whoever comes first once Redis takes writes could have it.
    for (const untilMs = Date.now() + 8_000; Date.now() < untilMs; await sleep(systemClock, 100)) {
      expect(await repeat()).toBe(503);
    }
    await accept(redis);
    const statuses = [];
    for (const untilMs = Date.now() + 5_000; statuses.at(-1) !== 200 && Date.now() < untilMs; )
      statuses.push(await repeat());
    expect(statuses.at(-1)).toBe(200);
    expect(application.received).toHaveLength(1);
    const [name = ""] = (await redis.command("KEYS", "*:callback")) as string[];
    expect(await redis.command("GET", name)).toMatch(/ settled \S+ \S+ 200$/);
  },
);

it("a mark that Redis refused comes within seconds, with no further callback at any replica", async () => {
  const { redis, application, one } = await stage(1, "strict");
  const [[, refuse, accept]] = states;
  application.answerWith((response, received) => void refuse(redis).then(() => accepts(response, received)));
  expect((await sendJson(one.port, freshCallback())).status).toBe(200);
  await accept(redis);
  const mark = async () => redis.command("GET", ((await redis.command("KEYS", "*:callback")) as string[])[0] ?? "");
  await expect.poll(mark, { timeout: 5_000, interval: 100 }).toMatch(/ settled /);
  expect(application.received).toHaveLength(1);
});
