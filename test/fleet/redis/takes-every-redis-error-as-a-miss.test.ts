/** Any error of Redis is a counted miss: requests are served, and tokens are shared again afterwards. */
import { expect, it, vi } from "vitest";
import { scrape } from "../../../testkit/exposition.ts";
import { startRedis } from "../../../testkit/redis.ts";
import { oauthSite, type Stage, stage } from "../../../testkit/stage.ts";
import { heldLock, tokensInRedis } from "./fleet-over-redis.ts";
import { cure, errorsOf, expectShared } from "./pod.ts";
import { type Trouble, troubles, wrongLogin } from "./troubles.ts";

it.each(Object.entries(troubles))("%s", async (_name, trouble) => {
  const { args = async () => [], login } = trouble;
  const redis = await startRedis({ args: await args() });
  await trouble.prepare?.(redis);
  const pod = await stage("replica", redis.port, login);
  // Otherwise nobody would release the lock.
  await vi.waitFor(async () => expect(await heldLock(redis)).toBeUndefined());
  await trouble.begin(redis, pod);
  await cure(pod);
  await expectCounted(pod, trouble);
  // It was a master once: a new connection may find the new master.
  if (trouble.kind === "readonly") expect(pod.recorder.of("redis_down")).toMatchObject([{ failure: "readonly" }]);
  await trouble.end(redis);
  await pod.recorder.nth("redis_up", 1 + pod.recorder.count("redis_down"));
  await cure(pod);
  await expectShared(pod, redis.port, login);
  expect(pod.recorder.of("defect")).toEqual([]);
});

it("WRONGPASS from the start, since the password is wrong", async () => {
  const redis = await startRedis();
  const pod = await stage("replica", redis.port, wrongLogin);
  await cure(pod);
  expect(pod.recorder.of("redis_down")).toMatchObject([{ failure: "noauth" }]);
  await expectCounted(pod, { kind: "noauth" });
  expect(pod.recorder.of("defect")).toEqual([]);
});

it("WRONGTYPE of the token's and the limits' keys: all are overwritten or deleted, and then everything works", async () => {
  const redis = await startRedis();
  const pod = await stage("replica", redis.port);
  const [token = ""] = await tokensInRedis(redis);
  const names = ["token", "endpoint", `forced:${oauthSite}`, "forced:*"].map((end) => token.replace(/token$/, end));
  for (const name of names) {
    await redis.command("DEL", name);
    await redis.command("RPUSH", name, "planted", "values");
  }
  await cure(pod);
  // Counts are written after the refresh.
  const types = () => Promise.all(names.map((name) => redis.command("TYPE", name)));
  await vi.waitFor(async () => expect(await types()).toEqual(["string", "none", "string", "string"]));
  const metrics = await scrape(pod.adminUrl);
  // At the read before the lock is taken, and at each read after that.
  expect(metrics.value("countersign_token_cache_total", { tier: "redis", result: "unreadable" })).toBeGreaterThan(1);
  await expectCounted(pod, { kind: "wrongtype" });
  const errors = await errorsOf(pod);
  await cure(pod);
  expect(await errorsOf(pod)).toEqual(errors);
  await expectShared(pod, redis.port);
  expect(pod.recorder.of("defect")).toEqual([]);
});

it("NOSCRIPT, since the scripts are lost before a refresh and in the middle of it: they are sent again, and no error is counted", async () => {
  const redis = await startRedis();
  const pod = await stage("replica", redis.port);
  await cure(pod);
  await redis.command("SCRIPT", "FLUSH");
  const login = pod.simulator.faults.add({ host: "login", kind: "hang" });
  const curing = cure(pod);
  await login.whenPlayed(1);
  await redis.command("SCRIPT", "FLUSH");
  login.release();
  await curing;
  // No request waits for the release of the lock. By itself the lock would expire later.
  await vi.waitFor(async () => expect(await redis.command("KEYS", "countersign:*:lock")).toEqual([]), {
    timeout: 500,
  });
  expect(await errorsOf(pod)).toEqual({});
  await expectShared(pod, redis.port);
  expect(pod.recorder.of("refresh_lock_tried").map(({ result }) => result)).toEqual(Array(3).fill("acquired"));
  expect(pod.recorder.of("defect")).toEqual([]);
});

/** Connections that are cut while Redis is in trouble are counted under another kind. */
async function expectCounted(pod: Stage, { kind }: Pick<Trouble, "kind">): Promise<void> {
  const kinds = async () => Object.keys(await errorsOf(pod)).filter((name) => name !== "cache connection");
  await expect.poll(kinds, { timeout: 3_000, interval: 50 }).toEqual([`cache ${kind}`]);
}
