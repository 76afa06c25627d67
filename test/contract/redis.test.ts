/** The contract on the run's common Redis: a given address, a container, or a process. */
import { randomBytes } from "node:crypto";
import { sleep, systemClock } from "../../src/clock.ts";
import { commonRedis, openReplica } from "../support/redis-replica.ts";
import { describeRefreshLock } from "./refresh-lock.ts";
import { describeTokenStore } from "./token-store.ts";

/** Others may use this Redis too. */
const ownKey = () => randomBytes(8).toString("hex");

describeTokenStore("Redis", async () => ({
  one: openReplica(commonRedis()).store,
  other: openReplica(commonRedis()).store,
  key: ownKey(),
  pass: (ms) => sleep(systemClock, ms),
}));

describeRefreshLock("Redis", async () => ({
  one: openReplica(commonRedis()).lock,
  other: openReplica(commonRedis()).lock,
  key: ownKey(),
}));
