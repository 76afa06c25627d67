import type { Account, Round } from "./account.ts";
import type { Fleet } from "./fleet.ts";
import type { Ledger } from "./ledger.ts";
import type { LivenessWatch } from "./liveness.ts";
import type { Snapshot } from "./memory.ts";
import { requestTimeoutMs, tokenLifetimeSeconds } from "./settings.ts";
import type { Stage } from "./stage.ts";

/** A round that is over. */
export interface Played extends Round {
  readonly orders: number;
  /** The round was not cut short. */
  readonly isWhole: boolean;
  /** How long each replica's first success took; infinite if it did not come in time. */
  readonly recoveryMs: number;
  /** One of each replica, at the end of the calm. */
  readonly snapshots: readonly Snapshot[];
}

/** Everything by which the soak is judged, and details for its reader. */
export interface Findings
  extends Pick<Ledger, "sent" | "columns" | "disagreeing" | "disagreements">,
    Pick<Account, "failures" | "unexplained" | "unexplainedFailures">,
    Pick<Fleet, "growths" | "endings">,
    Pick<LivenessWatch, "liveness">,
    Pick<Stage, "tokenReasons"> {
  readonly lastedMs: number;
  readonly rounds: readonly Pick<Played, "fault" | "failures" | "isWhole" | "recoveryMs" | "startedMs" | "endedMs">[];
  /** Orders that the service has created, by its own count. */
  readonly accepted: number;
  /** How many replicas run at a time. */
  readonly replicas: number;
  /** The largest count of any replica while it is not called. */
  readonly descriptorsBefore: number;
  readonly descriptorsAfter: number;
  readonly tokensIssued: number;
  /** Wrong behaviour of processes. */
  readonly accidents: readonly string[];
  /** The longest stall of the process that calls, plays the service and measures. */
  readonly driverStoodStillMs: number;
}

/** One promise, and whether it was kept. */
export interface Kept {
  readonly what: string;
  readonly wanted: string;
  readonly measured: string;
  readonly isKept: boolean;
}

/** The longest back-off, the promised time after it, and a reserve for a busy machine. */
export const longestRecoveryMs = 34_000;
const mostGrowthBytes = 5 * 1_048_576;
const longestLiveMs = 1_000;
/** The request deadline and 2 s, and a reserve for a busy machine. */
const longestEndMs = requestTimeoutMs + 2_000 + 1_000;
/** A token is due after this share of its life at the earliest. */
const earliestDueShare = 0.8;

/**
 * Judges a soak; a promise without a measurement is not kept.
 * @param patience factor by which the promised times may be exceeded
 */
export function judge(findings: Findings, patience = 1): Kept[] {
  return [
    kept("failures that no fault explains", "0", `${findings.unexplained}`, findings.unexplained === 0),
    judgeBook(findings),
    kept("orders on which all sides agree", "all", describeAgreement(findings), findings.disagreeing === 0),
    judgeHeap(findings),
    judgeDescriptors(findings),
    judgeLiveness(findings, patience * longestLiveMs),
    judgeTokens(findings),
    judgeRecovery(findings, patience * longestRecoveryMs),
    judgeBites(findings),
    judgeProcesses(findings, patience * longestEndMs),
  ];
}

function kept(what: string, wanted: string, measured: string, isKept: boolean): Kept {
  return { what, wanted, measured, isKept };
}

/** The service's own count must equal the callers' knowledge, to the request. */
function judgeBook({ accepted, columns, sent }: Findings): Kept {
  const { answered, other, unknown, not_sent, left, broken } = columns;
  const all = [answered, other, unknown, not_sent, left, broken];
  const sum = answered.orders + unknown.arrived + left.arrived + broken.arrived;
  const isComplete = all.reduce((total, { orders }) => total + orders, 0) === sent && sent > 0;
  const isKept = isComplete && accepted === sum && answered.arrived === answered.orders;
  const parts = `${answered.orders} answered + ${unknown.arrived} unknown + ${left.arrived} left + ${broken.arrived} cut off by a kill`;
  return kept("orders that the service has created", "answered + unknown", `${accepted} = ${parts}`, isKept);
}

function describeAgreement({ disagreeing, sent }: Findings): string {
  return disagreeing === 0 ? `all ${sent}` : `all but ${disagreeing}`;
}

function judgeHeap({ growths }: Findings): Kept {
  const [worst] = [...growths].sort((one, other) => other.heapBytes - one.heapBytes);
  const measured = worst === undefined ? "nothing" : `${megabytes(worst.heapBytes)} in replica ${worst.process}`;
  const isKept = worst !== undefined && worst.heapBytes <= mostGrowthBytes;
  return kept("growth of the heap at equal load", `at most ${megabytes(mostGrowthBytes)}`, measured, isKept);
}

function judgeDescriptors({ descriptorsBefore, descriptorsAfter }: Findings): Kept {
  const isKept = descriptorsBefore > 0 && descriptorsAfter <= descriptorsBefore;
  return kept("open descriptors at rest", "no more than before", `${descriptorsAfter}, ${descriptorsBefore}`, isKept);
}

function judgeLiveness({ liveness: { asked, failed, slowestMs } }: Findings, longestMs: number): Kept {
  const measured = `${asked - failed} of ${asked}, the slowest in ${Math.ceil(slowestMs)} ms`;
  const isKept = asked > 0 && failed === 0 && slowestMs <= longestMs;
  return kept("/livez green", `always, within ${longestMs} ms`, measured, isKept);
}

function judgeTokens({ tokensIssued, tokenReasons, replicas, rounds, lastedMs }: Findings): Kept {
  const natural = 1 + Math.ceil(lastedMs / (earliestDueShare * tokenLifetimeSeconds * 1_000));
  const costs = rounds.map(({ fault, startedMs, endedMs }) => {
    return (fault.tokens ?? 0) + (fault.tokensPerSecond ?? 0) * Math.ceil((endedMs - startedMs) / 1_000);
  });
  const most = replicas * costs.reduce((sum, cost) => sum + cost, natural);
  const why = [...tokenReasons].map(([reason, count]) => `${count} ${reason}`).join(", ");
  const isKept = tokensIssued > 0 && tokensIssued <= most;
  return kept("tokens issued", `at most ${most}`, `${tokensIssued}: ${why}`, isKept);
}

function judgeRecovery({ rounds }: Findings, longestMs: number): Kept {
  const slowestMs = Math.max(0, ...rounds.map(({ recoveryMs }) => recoveryMs));
  const isKept = rounds.length > 0 && slowestMs <= longestMs;
  const wanted = `within ${longestMs / 1_000} s`;
  return kept("all served again after each fault", wanted, `within ${(slowestMs / 1_000).toFixed(1)} s`, isKept);
}

/** A fault that no caller has felt proves nothing. */
function judgeBites({ rounds }: Findings): Kept {
  const loud = rounds.filter(({ fault, isWhole, startedMs, endedMs }) => {
    return isWhole && endedMs - startedMs > (fault.feltAfterMs ?? Number.POSITIVE_INFINITY);
  });
  const felt = loud.filter(({ fault, failures }) => fault.allows.some((label) => failures.has(label)));
  const isKept = felt.length === loud.length;
  return kept("faults that callers must feel", "all felt", `${felt.length} of ${loud.length}`, isKept);
}

function judgeProcesses({ endings, accidents }: Findings, longestMs: number): Kept {
  const slow = endings.filter(({ end, tookMs }) => end !== "exit code 0" || tookMs > longestMs);
  const wrong = [...accidents, ...slow.map(({ replica, end }) => `${replica}: ${end}`)];
  const slowestMs = Math.max(0, ...endings.map(({ tookMs }) => tookMs));
  const measured =
    wrong.length === 0 ? `${endings.length}, within ${(slowestMs / 1_000).toFixed(1)} s` : wrong.join("; ");
  const isKept = wrong.length === 0 && endings.length > 0;
  return kept("processes ended by SIGTERM alone, exit 0", `within ${longestMs / 1_000} s`, measured, isKept);
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MiB`;
}
