import { pause } from "../../testkit/interrupt.ts";
import type { Round } from "./account.ts";
import { replicaAndSite } from "./explain.ts";
import type { Fault } from "./fault.ts";
import { sites } from "./folder.ts";
import type { Snapshot } from "./growth.ts";
import type { Stage } from "./stage.ts";

/** A round that is over. */
export interface Played extends Round {
  readonly orders: number;
  /** It was not cut short. */
  readonly isWhole: boolean;
  /** How long each replica's first success took; infinite when it did not come in time. */
  readonly recoveryMs: number;
  /** Of each replica, at the end of the calm. */
  readonly snapshots: readonly Snapshot[];
}

export interface Pace {
  readonly everyMs: number;
  readonly patience: number;
  readonly interrupt: AbortSignal;
}

/** The longest back-off and what is promised beyond it (row 30), and something for a busy machine. */
export const longestRecoveryMs = 34_000;
const lookEveryMs = 20;
/** Of the time from one fault to the next. */
const faultShare = 1 / 3;
const leastCalmShare = 1 / 4;

/** A fault, the recovery from it, and calm until the next one is due; then the replicas are measured. */
export async function playRound(stage: Stage, fault: Fault, { everyMs, patience, interrupt }: Pace): Promise<Played> {
  const { account, ledger, fleet } = stage;
  const round = account.begin(fault);
  const before = ledger.sent;
  const end = await fault.begin(stage);
  await pause(everyMs * faultShare, interrupt);
  const isWhole = !interrupt.aborted;
  await end();
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
    fleet.replicas.every(({ name }) =>
      sites.every((site) => round.recoveredMs.has(replicaAndSite({ replica: name, site }))),
    );
  while (!isServed()) {
    if (performance.now() > round.endedMs + longestMs) return Number.POSITIVE_INFINITY;
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
  return Math.max(0, ...round.recoveredMs.values()) - round.endedMs;
}
