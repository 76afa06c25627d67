import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { pause } from "../../testkit/interrupt.ts";
import { type Round, replicaAndSite } from "./account.ts";
import { everyFault, type Fault, schedule } from "./faults.ts";
import { countDescriptors } from "./memory.ts";
import type { Options } from "./options.ts";
import { sites } from "./settings.ts";
import type { Stage } from "./stage.ts";
import { type Findings, longestRecoveryMs, type Played } from "./verdict.ts";

const replicas = 2;
/** Until code is compiled and all kept connections are open. */
const leastWarmUpMs = 3_000;
const lookEveryMs = 250;
/** Longer than a caller keeps an idle connection. */
const stillMs = 2_500;
const mostRestMs = 15_000;
/** Shares of the time from one fault to the next. */
const faultShare = 1 / 3;
const leastCalmShare = 1 / 4;

/** Plays the whole soak on an open stage, and returns its findings. */
export async function soak(
  stage: Stage,
  options: Options,
  interrupt: AbortSignal,
  onPlayed: (played: Played) => void,
): Promise<Findings> {
  const { fleet, callers, account, ledger, simulator } = stage;
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  for (let count = 0; count < replicas; count++) await fleet.grow();
  callers.start(options.rate);
  await pause(Math.max(leastWarmUpMs, options.everyMs / 3), interrupt);
  await callers.stop();
  const descriptorsBefore = await countAtRest(stage);
  callers.start(options.rate);
  const startedMs = performance.now();
  await pause(leastWarmUpMs, interrupt);
  await fleet.takeSnapshots();
  const rounds = await playAll(stage, options, interrupt, onPlayed);
  const lastedMs = performance.now() - startedMs;
  await callers.stop();
  const descriptorsAfter = await countAtRest(stage, descriptorsBefore);
  for (const replica of [...fleet.replicas]) await fleet.terminate(replica);
  stage.settle(0);
  const { sent, columns, disagreeing, disagreements } = ledger;
  const { failures, unexplained, unexplainedFailures } = account;
  const { accepted, tokensIssued } = simulator.counts();
  return {
    ...{
      sent,
      columns,
      disagreeing,
      disagreements,
      failures,
      unexplained,
      unexplainedFailures,
      accepted,
      tokensIssued,
    },
    ...{ lastedMs, rounds, replicas, descriptorsBefore, descriptorsAfter },
    growths: fleet.growths,
    endings: fleet.endings,
    liveness: stage.liveness.liveness,
    tokenReasons: stage.tokenReasons,
    accidents: [...fleet.accidents, ...stage.defects],
    driverStoodStillMs: delay.max / 1e6,
  };
}

async function playAll(stage: Stage, options: Options, interrupt: AbortSignal, onPlayed: (played: Played) => void) {
  const untilMs = performance.now() + options.minutes * 60_000;
  const faults = schedule(
    everyFault.filter(({ name }) => name.includes(options.only)),
    options.seed,
  );
  const rounds: Played[] = [];
  const isOver = () =>
    interrupt.aborted ||
    stage.fleet.accidents.length > 0 ||
    (options.faults === undefined ? performance.now() >= untilMs : rounds.length >= options.faults);
  while (!isOver()) {
    const played = await playRound(stage, faults.next().value, options, interrupt);
    rounds.push(played);
    onPlayed(played);
  }
  return rounds;
}

/** A fault, the recovery from it, and calm until the next one is due; then the replicas are measured. */
async function playRound(
  stage: Stage,
  fault: Fault,
  { everyMs, patience }: Options,
  interrupt: AbortSignal,
): Promise<Played> {
  const { account, ledger, fleet } = stage;
  const round = account.begin(fault);
  const before = ledger.sent;
  const end = await fault.begin(stage);
  await pause(everyMs * faultShare, interrupt);
  const isWhole = !interrupt.aborted;
  await end?.();
  account.end();
  const recoveryMs = await awaitRecovery(stage, round, patience * longestRecoveryMs);
  const restMs = round.startedMs + everyMs - performance.now();
  await pause(Math.max(restMs, everyMs * leastCalmShare), interrupt);
  const snapshots = await fleet.takeSnapshots();
  return { ...round, isWhole, recoveryMs, snapshots, orders: ledger.sent - before };
}

/** Resolves when each replica has served each site again. */
async function awaitRecovery({ fleet }: Stage, round: Round, longestMs: number): Promise<number> {
  const isServed = () =>
    fleet.names.every((replica) => sites.every((site) => round.recoveredMs.has(replicaAndSite({ replica, site }))));
  while (!isServed()) {
    if (performance.now() > round.endedMs + longestMs) return Number.POSITIVE_INFINITY;
    await sleep(20);
  }
  return Math.max(0, ...round.recoveredMs.values()) - round.endedMs;
}

/**
 * Open descriptors while there are no calls and no idle connections: the smallest count, taken until it is at most `wanted`,
 * or no longer changes.
 */
async function countAtRest({ fleet, simulator }: Stage, wanted = 0): Promise<number> {
  // Ends the idle connections to the service, which would be kept for a minute.
  await Promise.all([simulator.stopApi(), simulator.stopLogin()]);
  await Promise.all([simulator.startApi(), simulator.startLogin()]);
  const startedMs = performance.now();
  let least = Number.POSITIVE_INFINITY;
  let changedMs = startedMs;
  while (least > wanted && performance.now() < Math.min(changedMs + stillMs, startedMs + mostRestMs)) {
    const now = Math.max(...(await Promise.all(fleet.replicas.map(({ adminUrl }) => countDescriptors(adminUrl)))));
    if (now < least) changedMs = performance.now();
    least = Math.min(least, now);
    await sleep(lookEveryMs);
  }
  return least;
}
