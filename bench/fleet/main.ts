import { runCommand } from "../../scripts/command-line.ts";
import { print, printJson } from "../../src/cli/terminal.ts";
import { type Column, formatHead, formatRow, formatTarget } from "../table.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { type LifeRow, type Simulated, simulate } from "./simulation.ts";
import { judge } from "./verdict.ts";

// `npm run bench:fleet`: what a thousand replicas cost the authorization server and Redis in thirty token lifetimes, a day and a
// night. options.ts has the options, plan.ts the restarts and outages, verdict.ts the targets.

const columns: readonly Column<LifeRow, number>[] = [
  { title: "lifetime", width: 8, show: ({ life }) => `${life}` },
  { title: "phase", width: 9, show: ({ phase }) => phase },
  { title: "minutes", width: 8, show: ({ lengthMs }) => (lengthMs / 60_000).toFixed(1) },
  { title: "restarts", width: 9, show: ({ restarts }) => `${restarts}` },
  { title: "Redis away", width: 11, show: ({ redisAwayMs }) => `${Math.round(redisAwayMs / 1_000)} s` },
  { title: "tokens", width: 7, show: ({ tokenRequests }) => `${tokenRequests}` },
  { title: "commands", width: 9, show: ({ commands }, replicas) => (commands / replicas).toFixed(2) },
  { title: "most", width: 5, show: ({ mostCommands }) => `${mostCommands}` },
  { title: "orders", width: 7, show: ({ orders }) => `${orders}` },
  { title: "failures", width: 9, show: ({ failures }) => `${failures}` },
  { title: "longest wait", width: 13, show: ({ longestWaitMs }) => `${Math.round(longestWaitMs)} ms` },
];

/** What the columns mean. */
const legend = `A lifetime here is a token's: from its request until the next one that is not premature. tokens: token requests of the whole
fleet. commands: Redis commands per replica, counted by Redis (those that clients send, greetings included); most: by the one
replica that sent most, counted by its client. longest wait: of an order for its token.`;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));
process.exitCode = await runCommand(readOptions, usage, play);

async function play(options: Options): Promise<number> {
  const { json, ...simulation } = options;
  const { seed, replicas, lifetimes } = simulation;
  const say = json ? () => {} : print;
  say(`${replicas} replicas, ${lifetimes} token lifetimes, --seed ${seed}\n${legend}\n\n${formatHead(columns)}`);
  const startedMs = performance.now();
  const { rows, events }: Simulated = await simulate(simulation, (row) => say(formatRow(columns, row, replicas)));
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  const targets = judge(rows, replicas);
  const isReached = targets.every((target) => target.isReached);
  say(["", ...targets.map(formatTarget), "", `${events} events in ${seconds} s`].join("\n"));
  if (json) printJson({ ...simulation, lifetimesMeasured: rows, targets, isReached, events, seconds });
  return isReached ? 0 : 1;
}
