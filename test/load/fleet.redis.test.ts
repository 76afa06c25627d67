import { expect, test } from "vitest";
import { type LifeRow, simulate } from "../../bench/fleet/simulation.ts";
import { judge } from "../../bench/fleet/verdict.ts";
import { drawSeed } from "../../testkit/seeded-random.ts";

// The short form of `npm run bench:fleet`, which runs a thousand replicas for thirty lifetimes.

const replicas = 50;

test("50 replicas request one token per lifetime, and one each while Redis is away", async () => {
  const seed = drawSeed("fleet");
  const { rows } = await simulate({ seed, replicas, lifetimes: 6, startWithinMs: 1_000 });
  expect(judge(rows, replicas).filter(({ isReached }) => !isReached)).toEqual([]);
  expect(rows.map(({ phase }) => phase)).toEqual(["calm", "restarts", "outage", "outage", "outage", "mixed"]);
  expect(rows.slice(0, 5).map(({ tokenRequests }) => tokenRequests)).toEqual([1, 1, 1, replicas, 1]);
  expect(rows[1]?.restarts).toBeGreaterThan(0);
  // Redis and its clients count independently.
  const calm = rows.filter(({ redisAwayMs }) => redisAwayMs === 0);
  expect(calm.map(({ commands }) => commands)).toEqual(calm.map(({ sentCommands }) => sentCommands));
});

const calmRow: LifeRow = {
  life: 1,
  phase: "calm",
  lengthMs: 2_880_000,
  tokenRequests: 1,
  repeatedRequests: 0,
  commands: 100,
  redisAwayMs: 0,
  orders: 10,
  failures: 0,
  longestWaitMs: 0,
  restarts: 0,
  sentCommands: 100,
  mostCommands: 5,
};
const aloneRow: LifeRow = { ...calmRow, phase: "outage", redisAwayMs: 3_600_000, tokenRequests: 50 };

test.each<[what: string, rows: LifeRow[], missed: number]>([
  ["all is well", [calmRow, aloneRow], 0],
  ["a second token while Redis was there", [{ ...calmRow, tokenRequests: 2 }, aloneRow], 1],
  ["more tokens than replicas", [calmRow, { ...aloneRow, tokenRequests: 51 }], 1],
  ["a process that asked twice", [calmRow, { ...aloneRow, repeatedRequests: 1 }], 1],
  ["12 commands per replica", [{ ...calmRow, commands: 600 }, aloneRow], 0],
  ["one command more", [{ ...calmRow, commands: 601 }, aloneRow], 1],
  ["an order without a token", [{ ...calmRow, failures: 1 }, aloneRow], 1],
  ["no outage to judge by", [calmRow], 1],
  ["nothing to judge by", [], 5],
])("the bench's verdict: %s", (_, rows, missed) => {
  expect(judge(rows, replicas).filter(({ isReached }) => !isReached)).toHaveLength(missed);
});
