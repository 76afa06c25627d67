/** The contract on the run's common Redis: a given address, a container, or a process. */
import { randomBytes } from "node:crypto";
import { sleep, systemClock } from "../../../src/model/clock.ts";
import { describeClaimStore } from "../../../testkit/contract/claim-store.ts";
import { describeRefreshLock } from "../../../testkit/contract/refresh-lock.ts";
import { describeTokenStore } from "../../../testkit/contract/token-store.ts";
import { commonRedis, openReplica, patientClock } from "../../../testkit/redis-replica.ts";

/** Others may use this Redis too. */
const ownKey = () => randomBytes(8).toString("hex");

describeTokenStore("Redis", async () => ({
  one: openReplica(commonRedis(), patientClock).store,
  other: openReplica(commonRedis(), patientClock).store,
  key: ownKey(),
  pass: (ms) => sleep(systemClock, ms),
}));

describeRefreshLock("Redis", async () => ({
  one: openReplica(commonRedis(), patientClock).lock,
  other: openReplica(commonRedis(), patientClock).lock,
  key: ownKey(),
}));

describeClaimStore("Redis", async () => ({
  one: openReplica(commonRedis(), patientClock).claims,
  other: openReplica(commonRedis(), patientClock).claims,
  pass: (ms) => sleep(systemClock, ms),
}));
