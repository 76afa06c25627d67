import { type Fleet, type FleetOptions, startFleet } from "../../../testkit/fleet.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { undisturbed } from "../../../testkit/undisturbed.ts";

/** Plays with a fleet over a Redis of its own, once more where a busy machine disturbed it. */
export async function playFleet(
  options: Omit<FleetOptions, "redis">,
  play: (fleet: Fleet, redis: RealRedis) => Promise<void>,
): Promise<void> {
  let redis: RealRedis | undefined;
  const stage = async () => {
    redis = await startRedis();
    return startFleet({ ...options, redis: `{ url: "${redis.url}" }` });
  };
  await undisturbed(stage, async (fleet) => {
    if (redis === undefined) throw new Error("no Redis");
    await play(fleet, redis);
  });
}
