import type { Target } from "../table.ts";
import type { LifeRow } from "./simulation.ts";

const mostCommandsPerReplica = 12;

/** Judges the lives; a target without a measurement is not reached. */
export function judge(rows: readonly LifeRow[], replicas: number): Target[] {
  const shared = rows.filter(({ redisAwayMs }) => redisAwayMs === 0);
  const alone = rows.filter(({ phase, redisAwayMs }) => phase === "outage" && redisAwayMs > 0);
  const tokensShared = shared.map(({ tokenRequests }) => tokenRequests);
  const mostAlone = highest(alone.map(({ tokenRequests }) => tokenRequests));
  const mostCommands = highest(rows.map(({ commands }) => commands / replicas));
  const repeats = sum(rows.map(({ repeatedRequests }) => repeatedRequests));
  const failures = sum(rows.map((row) => row.failures));
  return [
    {
      what: "token requests in a lifetime with Redis",
      wanted: "exactly 1",
      measured: `${lowest(tokensShared)} to ${highest(tokensShared)} in ${shared.length} lifetimes`,
      isReached: shared.length > 0 && tokensShared.every((requests) => requests === 1),
    },
    {
      what: "token requests in the lifetime without Redis",
      wanted: `at most ${replicas}, one per replica`,
      measured: `${mostAlone}`,
      isReached: alone.length > 0 && mostAlone <= replicas,
    },
    {
      what: "second token requests of one process in a lifetime",
      wanted: "0",
      measured: `${repeats}`,
      isReached: rows.length > 0 && repeats === 0,
    },
    {
      what: "Redis commands per replica in a lifetime",
      wanted: `at most ${mostCommandsPerReplica}`,
      measured: `at most ${mostCommands.toFixed(2)}`,
      isReached: rows.length > 0 && mostCommands <= mostCommandsPerReplica,
    },
    {
      what: "orders without a live token",
      wanted: "0",
      measured: `${failures} of ${sum(rows.map(({ orders }) => orders))}`,
      isReached: rows.some(({ orders }) => orders > 0) && failures === 0,
    },
  ];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function highest(values: readonly number[]): number {
  return Math.max(0, ...values);
}

function lowest(values: readonly number[]): number {
  return values.length === 0 ? 0 : Math.min(...values);
}
