/** The contract on the run's common Redis: a given address, a container, or a process. */
import { randomBytes } from "node:crypto";
import { sleep, systemClock } from "../../../src/model/clock.ts";
import { describeOnceStore } from "../../../testkit/contract/once-store.ts";
import { describeRefreshLock } from "../../../testkit/contract/refresh-lock.ts";
import { describeReplayStore } from "../../../testkit/contract/replay-store.ts";
import { describeTokenStore } from "../../../testkit/contract/token-store.ts";
import { commonRedis, openReplica, patientClock, sealKey } from "../../../testkit/redis-replica.ts";

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

describeReplayStore("Redis", async () => ({
  one: openReplica(commonRedis(), patientClock).replays,
  other: openReplica(commonRedis(), patientClock).replays,
  pass: (ms) => sleep(systemClock, ms),
}));

describeOnceStore(async (keys = [sealKey()]) => ({
  one: openReplica({ ...commonRedis(), encryptionKeys: [sealKey()] }, patientClock).once,
  other: openReplica({ ...commonRedis(), encryptionKeys: keys }, patientClock).once,
  pass: (ms) => sleep(systemClock, ms),
}));
