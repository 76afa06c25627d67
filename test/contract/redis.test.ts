import { randomBytes } from "node:crypto";
import { sleep, systemClock } from "../../src/clock.ts";
import { startRedis } from "../support/real-redis.ts";
import { openReplica } from "../support/redis-replica.ts";
import { describeRefreshLock } from "./refresh-lock.ts";
import { describeTokenStore } from "./token-store.ts";

describeTokenStore("Redis", async () => {
  const redis = await startRedis();
  return {
    one: openReplica(redis).store,
    other: openReplica(redis).store,
    key: randomBytes(8).toString("hex"),
    pass: (ms) => sleep(systemClock, ms),
  };
});

describeRefreshLock("Redis", async () => {
  const redis = await startRedis();
  return { one: openReplica(redis).lock, other: openReplica(redis).lock };
});
