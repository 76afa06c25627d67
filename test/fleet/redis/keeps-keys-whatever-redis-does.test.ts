/** While Redis fails, no request with a key is sent that may be a repetition; results are written when Redis is back. */
import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { sleep, systemClock } from "../../../src/model/clock.ts";
import { call, order } from "../../../testkit/call.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { whenInFlight } from "../../../testkit/in-flight.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { startReplicated } from "../../../testkit/redis-fleet.ts";
import { openReplica, patientClock } from "../../../testkit/redis-replica.ts";
import { accepted, keysIn } from "../../../testkit/stage/redis.ts";
import { type StageOf, stage } from "../../../testkit/stage.ts";
import { refusedWrites } from "./troubles.ts";

/** Commands of Redis end after 100 ms, as in production. */
const hasty = { surroundings: { clock: systemClock } };
const replayed = { status: 200, headers: { "countersign-replayed": "true" } };
const refused = { status: 503, code: "once_unavailable" } as const;

it("a Redis that hangs: nothing is sent, and a claim that it stores too late is freed", async () => {
  const redis = await startRedis();
  const staged = await stage("once", redis, undefined, hasty);
  expect((await whenBack(staged, "before")).status).toBe(200);
  redis.stop();
  expectFailure(await staged.once("order-1"), refused);
  expectFailure(await staged.once("order-1"), refused);
  expect(staged.upstream.requests).toHaveLength(1);
  redis.cont();
  expect((await whenBack(staged, "order-1")).status).toBe(200);
  expect(await staged.once("order-1")).toMatchObject(replayed);
  expect(staged.upstream.requests).toHaveLength(2);
  expect((await keysIn(redis)).size).toBe(2);
});

it("a Redis that stands still for a moment: requests wait for it, hold up no others, and each is sent once", async () => {
  const redis = await startRedis();
  const staged = await stage("once", redis, undefined, { ...hasty, limits: { inFlightPerEnvironment: 3 } });
  expect((await whenBack(staged, "before")).status).toBe(200);
  redis.stop();
  const waiting = [1, 2, 3].map((n) => staged.once(`order-${n}`));
  // On a busy machine it may have been down before, and then no event comes.
  await expect.poll(async () => (await staged.status()).redis[0].isUp, { timeout: 60_000 }).toBe(false);
  // They have no permits.
  await expect.poll(async () => (await call(staged.url, order)).status).toBe(200);
  redis.cont();
  for (const { status } of await Promise.all(waiting)) expect(status).toBe(200);
  for (const n of [1, 2, 3]) expect(await staged.once(`order-${n}`)).toMatchObject(replayed);
});

it("a request waits for Redis no longer than `once.wait`, or its own deadline", async () => {
  const redis = await startRedis();
  const once = { ttlMs: 900_000, waitMs: 400, header: "Countersign-Once" } as const;
  const staged = await stage("once", redis, undefined, { ...hasty, config: { once } });
  expect((await whenBack(staged, "before")).status).toBe(200);
  redis.stop();
  expectFailure(await staged.once("order-1"), refused);
  expect((await staged.lastEnd()).durationMs).toBeGreaterThan(390);
  expectFailure(await staged.once("order-1", { headers: { "Countersign-Timeout-Ms": "200" } }), refused);
  expect((await staged.lastEnd()).durationMs).toBeLessThan(390);
});

it("repetitions that wait for the first request keep no other order out", async () => {
  let answer = () => {};
  const isFirst = (body: string) => body.includes('"first"');
  const respond = (request: { body: string }, socket: Socket) => {
    if (isFirst(request.body)) answer = () => void socket.write(accepted);
    else socket.write(accepted);
  };
  const staged = await stage("once", await startRedis(), respond, { limits: { inFlightPerEnvironment: 2 } });
  const body = { ...order, description: "first" };
  const first = staged.once("order-1", { body });
  await expect.poll(() => staged.upstream.requests.length).toBe(1);
  const repetitions = Array.from({ length: 10 }, async () => {
    let called = await staged.once("order-1", { body });
    while (called.status === 503) called = await staged.once("order-1", { body });
    return called;
  });
  await whenInFlight(staged, 11);
  for (const n of [2, 3, 4]) expect((await staged.once(`order-${n}`)).status).toBe(200);
  answer();
  expect((await first).status).toBe(200);
  for (const repetition of await Promise.all(repetitions)) expect(repetition).toMatchObject(replayed);
  expect(staged.upstream.requests).toHaveLength(4);
});

it("a Redis that is killed: nothing is sent until it is back", async () => {
  const redis = await startRedis();
  const staged = await stage("once", redis, undefined, hasty);
  expect((await whenBack(staged, "before")).status).toBe(200);
  await redis.kill();
  expectFailure(await staged.once("order-1"), refused);
  expect(staged.upstream.requests).toHaveLength(1);
  await redis.restart();
  expect((await whenBack(staged, "order-1")).status).toBe(200);
  expect(staged.upstream.requests).toHaveLength(2);
  const { value } = await scrape(staged.adminUrl);
  const count = (result: string) => value("countersign_once_total", { environment: "sandbox", result });
  expect([count("recorded"), count("freed"), count("unrecorded")]).toEqual([2, 0, 0]);
  expect(count("unavailable")).toBeGreaterThan(0);
});

it("a Redis that is full, or read-only, accepts no key; the keys in it are still known", async () => {
  const redis = await startRedis({ args: ["--maxmemory-policy", "noeviction"] });
  const full = await stage("once", redis, undefined, hasty);
  expect((await whenBack(full, "before")).status).toBe(200);
  await redis.config("maxmemory", "1");
  expectFailure(await full.once("order-1"), refused);
  expect(await full.once("before")).toMatchObject(replayed);
  await redis.config("maxmemory", "0");
  expect((await whenBack(full, "order-1")).status).toBe(200);
  expect(full.upstream.requests).toHaveLength(2);

  const { replica } = await startReplicated(startRedis);
  const readonly = await stage("once", replica, undefined, hasty);
  expectFailure(await readonly.once("order-1"), refused);
  expect(readonly.upstream.requests).toHaveLength(0);
});

it("a result that cannot be written is written when Redis is back; until then the key is in progress", async () => {
  const redis = await startRedis();
  let isLost = false;
  const answer = (_: unknown, socket: Socket) => {
    if (isLost) redis.stop();
    socket.write(accepted);
  };
  const staged = await stage("once", redis, answer, hasty);
  expect((await whenBack(staged, "before")).status).toBe(200);
  isLost = true;
  expect((await staged.once("order-1")).status).toBe(200);
  expect(await staged.lastEnd()).toMatchObject({ once: "unrecorded", outcome: "answered" });
  const unwritten = async () => (await scrape(staged.adminUrl)).value("countersign_results_unwritten", {});
  expect(await unwritten()).toBe(1);
  redis.cont();
  const values = async () => [...(await keysIn(redis)).values()];
  const isRecorded = (value: string) => value.includes(" answered 200");
  await expect.poll(async () => (await values()).filter(isRecorded).length, { timeout: 10_000 }).toBe(2);
  await expect.poll(unwritten).toBe(0);
  // Redis may have stored the whole answer after all.
  expect(await whenBack(staged, "order-1")).toSatisfy(
    ({ status, json }) => status === 200 || json.first.status === 200,
  );
  expect(staged.upstream.requests).toHaveLength(2);
});

it("a Redis that lost the key while its request was under way gets it back with the answer", async () => {
  const redis = await startRedis();
  const staged = await stage("once", redis, (_, socket) => {
    void redis.command("FLUSHALL").then(() => socket.write(accepted));
  });
  expect((await staged.once("order-1")).status).toBe(200);
  expect(await staged.once("order-1")).toMatchObject(replayed);
  expect(staged.upstream.requests).toHaveLength(1);
});

it("a key with a value in another form is not free", async () => {
  const redis = await startRedis();
  const staged = await stage("once", redis, undefined, hasty);
  await staged.once("order-1");
  const [name = ""] = (await keysIn(redis)).keys();
  await redis.command("SET", name, "rubbish");
  expectFailure(await staged.once("order-1"), refused);
  await redis.command("DEL", name);
  await redis.command("SADD", name, "another type");
  expectFailure(await staged.once("order-1"), refused);
  expect(staged.upstream.requests).toHaveLength(1);
});

it("a result that waits for Redis never replaces a later one: an answer that was cut stays unknown", async () => {
  const redis = await startRedis();
  const { claims } = openReplica(redis, patientClock);
  const open = (holder: string) => {
    const terms = { kind: "once", key: "order-1", holder, note: "n", leaseMs: 10_000, lifetimeMs: 60_000 } as const;
    return claims.open({ ...terms, isTakenOver: false });
  };
  const claim = open("a");
  await claim.make();
  await redis.config("maxmemory", "1");
  await expect(claim.settle("answered 200")).rejects.toThrow();
  await redis.config("maxmemory", "0");
  await claim.settle("unknown 200");
  // Waiting results are tried again within this time.
  await sleep(systemClock, 2_500);
  expect(await open("c").make()).toMatchObject({ holder: "a", value: "unknown 200" });
});

it.each(refusedWrites)(
  "%s: a result that was refused is written later even if the replica gets no request",
  async (_, { begin, end }) => {
    const redis = await startRedis({ args: ["--maxmemory-policy", "noeviction"] });
    const answer = (_request: unknown, socket: Socket) => void begin(redis).then(() => socket.write(accepted));
    const staged = await stage("once", redis, answer, hasty);
    await end(redis);
    expect((await staged.once("order-1")).status).toBe(200);
    expect(await staged.lastEnd()).toMatchObject({ once: "unrecorded", outcome: "answered" });
    await end(redis);
    const values = async () => [...(await keysIn(redis)).values()];
    await expect.poll(values, { timeout: 10_000, interval: 100 }).toEqual([expect.stringMatching(/ answered 200$/)]);
    expect((await staged.once("order-1")).json.first).toMatchObject({ outcome: "answered", status: 200 });
    expect(staged.upstream.requests).toHaveLength(1);
  },
);

it("a Redis that may drop keys is named at the start", async () => {
  const redis = await startRedis();
  await redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
  const { recorder, metrics } = await stage("once", redis);
  expect(await recorder.nth("redis_evicts", 1)).toMatchObject({ node: "cache", policy: "allkeys-lru", evicted: 0 });
  expect((await metrics()).sum("countersign_redis_evicted_keys_total")).toBe(0);
});

/** The next answer that is no 503, if one comes in time. */
async function whenBack({ once }: StageOf<"once">, key: string) {
  const untilMs = Date.now() + 15_000;
  let answer = await once(key);
  while (answer.status === 503 && Date.now() < untilMs) {
    await sleep(systemClock, 100);
    answer = await once(key);
  }
  return answer;
}
