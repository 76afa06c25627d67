/** Killed at any of a hundred moments, a process is replaced at once, and no lock stays without an expiry. */
import { expect, it } from "vitest";
import { canaries } from "../../testkit/config-folder.ts";
import { greenSet, startFleet } from "../../testkit/fleet.ts";
import { type RealRedis, startRedis } from "../../testkit/redis.ts";
import { drawSeed, seededRandom } from "../../testkit/seeded-random.ts";
import { simulatedSites } from "../../testkit/simulated-sites.ts";
import { print } from "../fleet/redis/load.ts";

const kills = 100;
/** Processes side by side: they take over each other's locks and tokens. */
const lanes = 4;
const longestLifeMs = 300;
/** The promise is 1 s from process start to a served order on a quiet machine. */
const servingWithinMs = 10_000;
const leaseMs = 1_500;
/** A site whose tokens have such short lifetimes that many kills meet a refresh. */
const restlessSite = "S1000000009";
const restless = { clientId: "restless-id", clientSecret: canaries.green, audience: "https://api.sandbox.example" };

it("serves again at once after each of 100 kills, and leaves no lock without an expiry", async () => {
  const random = seededRandom(drawSeed("kills"));
  const redis = await startRedis();
  const options = {
    redis,
    simulator: { sites: [...simulatedSites, { identifier: restlessSite, credentials: [restless] }] },
    replicas: 1,
    moreSites: "",
  };
  const fleet = await startFleet(options);
  // The token that orders need is valid for a day, and all processes share it.
  expect(await fleet.replicas[0]?.order()).toMatchObject({ status: 200 });
  fleet.simulator.setTokenLifetimeSeconds(1);
  // A refresh takes as long as a process lives on average, so many kills meet a refresh.
  fleet.simulator.faults.add({
    host: "login",
    kind: "delay",
    delayMs: longestLifeMs / 2,
    times: "until_cleared",
    clientId: restless.clientId,
  });
  options.moreSites = `${restlessSite}: { credentials: [ ${greenSet.replace("green-id", restless.clientId)} ] }`;
  const backMs: number[] = [];
  const longestLocks: number[] = [];

  const dieAndComeBack = async (times: number) => {
    for (let n = 0; n < times; n++) {
      const startedMs = performance.now();
      const replica = await fleet.add();
      expect(await replica.order()).toMatchObject({ status: 200 });
      backMs.push(performance.now() - startedMs);
      await new Promise((resolve) => setTimeout(resolve, random() * longestLifeMs));
      replica.order({ "Countersign-Site": restlessSite }).catch(() => {});
      replica.signal("SIGKILL");
      expect(await replica.ended).toBe("SIGKILL");
      longestLocks.push(...(await lockLives(redis)));
    }
  };
  await Promise.all(Array.from({ length: lanes }, () => dieAndComeBack(kills / lanes)));

  backMs.sort((one, other) => one - other);
  const [half = 0, most = 0] = [backMs[kills / 2], backMs.at(-1)];
  print("from a new process's start to its first answer, in ms", { p50: half, longest: most });
  expect(backMs).toHaveLength(kills);
  expect(most).toBeLessThan(servingWithinMs);
  expect(longestLocks.length).toBeGreaterThan(0);
  expect(longestLocks.filter((life) => life < 0 || life > leaseMs)).toEqual([]);
  await expect.poll(() => lockLives(redis), { timeout: 10 * leaseMs, interval: 200 }).toEqual([]);
});

/** The remaining time of each lock, in ms; -1 for a lock without an expiry. */
async function lockLives(redis: RealRedis): Promise<number[]> {
  const keys = (await redis.command("KEYS", "*:lock")) as string[];
  const lives = await Promise.all(keys.map((key) => redis.command("PTTL", key)));
  // -2: the lock has gone in the meantime.
  return lives.map(Number).filter((life) => life !== -2);
}
