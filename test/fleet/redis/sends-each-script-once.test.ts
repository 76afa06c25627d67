/** The text of a script goes to Redis once, and then its digest; always, if the user may not run it by its digest. */
import { expect, it } from "vitest";
import { aclUser } from "../../../testkit/acl.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { openReplica, patientClock } from "../../../testkit/redis-replica.ts";

/** The commands since the last reset, whether Redis ran them or not. */
async function sent(redis: RealRedis) {
  const stats = String(await redis.command("INFO", "commandstats"));
  const count = (name: string) => Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, "m").exec(stats)?.[1] ?? 0);
  return { eval: count("eval"), evalsha: count("evalsha"), set: count("set") };
}

async function stage(prepare: (redis: RealRedis) => Promise<unknown> = async () => {}) {
  const redis = await startRedis();
  await prepare(redis);
  const { claims } = openReplica(redis, patientClock);
  let keys = 0;
  const claim = () => {
    keys += 1;
    const times = { leaseMs: 10_000, lifetimeMs: 60_000, isTakenOver: false };
    return claims.open({ kind: "once", key: `k-${keys}`, holder: "a", note: "n", ...times });
  };
  await claim().make();
  await redis.command("CONFIG", "RESETSTAT");
  return { redis, claim };
}

it("by digest, and once more by text after Redis has forgotten it; nothing is written twice", async () => {
  const { redis, claim } = await stage();
  for (let n = 0; n < 5; n += 1) expect(await claim().make()).toEqual({ kind: "claimed" });
  expect(await sent(redis)).toEqual({ eval: 0, evalsha: 5, set: 5 });
  await redis.command("SCRIPT", "FLUSH");
  for (let n = 0; n < 5; n += 1) expect(await claim().make()).toEqual({ kind: "claimed" });
  expect(await sent(redis)).toEqual({ eval: 1, evalsha: 10, set: 10 });
});

it("by text, if the user lacks `+evalsha`", async () => {
  const { redis, claim } = await stage((redis) => redis.command("ACL", "SETUSER", aclUser.username, "-evalsha"));
  for (let n = 0; n < 5; n += 1) expect(await claim().make()).toEqual({ kind: "claimed" });
  expect(await sent(redis)).toEqual({ eval: 5, evalsha: 0, set: 5 });
});
