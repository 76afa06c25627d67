import { monitorEventLoopDelay } from "node:perf_hooks";
import { pause } from "../../testkit/interrupt.ts";
import type { Findings } from "./findings.ts";
import type { Options } from "./options.ts";
import { type Pace, type Played, playRound } from "./play.ts";
import { everyFault, schedule } from "./schedule.ts";
import type { Stage } from "./stage.ts";

const replicas = 2;
/** Until code is compiled and every connection that is kept is made. */
const leastWarmUpMs = 3_000;
const lookEveryMs = 250;
/** Longer than a caller keeps an idle connection. */
const stillMs = 2_500;
const mostRestMs = 15_000;

/** Plays the whole soak on a stage that is open, and says what was found. */
export async function soak(
  stage: Stage,
  options: Options,
  interrupt: AbortSignal,
  onPlayed: (played: Played) => void,
): Promise<Findings> {
  const { fleet, callers, account, ledger, simulator, liveness } = stage;
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  for (let count = 0; count < replicas; count++) await fleet.start();
  callers.start(options.rate);
  await pause(Math.max(leastWarmUpMs, options.everyMs / 3), interrupt);
  await callers.stop();
  const descriptorsBefore = await countAtRest(stage);
  callers.start(options.rate);
  const startedMs = performance.now();
  await pause(leastWarmUpMs, interrupt);
  await fleet.takeSnapshots();
  const rounds = await playAll(stage, options, { ...options, interrupt }, onPlayed);
  const lastedMs = performance.now() - startedMs;
  await callers.stop();
  const descriptorsAfter = await countAtRest(stage, descriptorsBefore);
  for (const replica of [...fleet.replicas]) await fleet.terminate(replica);
  stage.settle(0);
  return {
    lastedMs,
    rounds,
    sent: ledger.sent,
    columns: ledger.columns,
    accepted: simulator.counts().accepted,
    disagreeing: ledger.disagreeing,
    failures: account.failures,
    unexplained: account.unexplained,
    growths: fleet.growths,
    replicas,
    descriptorsBefore,
    descriptorsAfter,
    liveness: liveness.liveness,
    tokensIssued: simulator.counts().tokensIssued,
    tokenReasons: stage.tokenReasons,
    endings: fleet.endings,
    accidents: [...fleet.accidents, ...stage.defects],
    driverStoodStillMs: delay.max / 1e6,
  };
}

async function playAll(stage: Stage, options: Options, pace: Pace, onPlayed: (played: Played) => void) {
  const untilMs = performance.now() + options.minutes * 60_000;
  const faults = schedule(
    everyFault.filter(({ name }) => name.includes(options.only)),
    options.seed,
  );
  const rounds: Played[] = [];
  const isOver = () =>
    pace.interrupt.aborted ||
    stage.fleet.accidents.length > 0 ||
    (options.faults === undefined ? performance.now() >= untilMs : rounds.length >= options.faults);
  while (!isOver()) {
    const played = await playRound(stage, faults.next().value, pace);
    rounds.push(played);
    onPlayed(played);
  }
  return rounds;
}

/**
 * Descriptors while there are no calls and no idle connections: the least that is seen until it is what is wanted, or has not
 * changed for so long.
 */
async function countAtRest({ fleet, simulator }: Stage, wanted = 0): Promise<number> {
  // Ends the idle connections to the service, which would be kept for a minute.
  await Promise.all([simulator.stopApi(), simulator.stopLogin()]);
  await Promise.all([simulator.startApi(), simulator.startLogin()]);
  const startedMs = performance.now();
  let least = Number.POSITIVE_INFINITY;
  let changedMs = startedMs;
  while (least > wanted && performance.now() < Math.min(changedMs + stillMs, startedMs + mostRestMs)) {
    const now = Math.max(...(await fleet.countDescriptors()));
    if (now < least) changedMs = performance.now();
    least = Math.min(least, now);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
  return least;
}
