import { firstWindowMs } from "../../src/oauth/forced-refresh-counts.ts";
import { forcedRefreshMemoryMs } from "../../src/oauth/token-store.ts";
import { type Fault, revoked } from "./faults.ts";

/** An order that was not created although its caller waited. */
export interface Failure {
  readonly label: string;
  readonly replica: string;
  readonly site: string;
  /** The order's number, which is its reference. */
  readonly number: number;
  readonly requestId: string | undefined;
  readonly sentMs: number;
  readonly endedMs: number;
}

/** One fault and the calm after it. */
export interface Round {
  readonly fault: Fault;
  /** Failures that the fault explains, and unexplained ones while this round is the latest. */
  readonly failures: Map<string, number>;
  unexplained: number;
  readonly startedMs: number;
  /** Infinite while the fault lasts. */
  endedMs: number;
  /** When each replica first served each site after the fault's end (`replicaAndSite`). */
  readonly recoveredMs: Map<string, number>;
}

export interface Unexplained extends Failure {
  /** The fault at that time. */
  readonly during: string;
}

/** Further ones are counted, but not kept. */
const longestList = 20;
/** A round before the latest three, over before the order was sent, explains nothing: recovery ends before the next fault begins. */
const mostOpen = 3;
/** A replica needs a few 401s in a row to see that a token is revoked, when it may not refresh after each (forced-refresh-limiter.ts). */
const mostPassedOn = 20;

export function replicaAndSite({ replica, site }: Pick<Failure, "replica" | "site">): string {
  return `${replica} ${site}`;
}

/** The account of failures, and of the faults that explain them. */
export class Account {
  readonly rounds: Round[] = [];
  readonly failures = new Map<string, number>();
  readonly unexplainedFailures: Unexplained[] = [];
  readonly #forcedRefreshesMs: number[] = [];
  unexplained = 0;

  begin(fault: Fault): Round {
    const round: Round = {
      fault,
      startedMs: performance.now(),
      endedMs: Number.POSITIVE_INFINITY,
      recoveredMs: new Map(),
      failures: new Map(),
      unexplained: 0,
    };
    this.rounds.push(round);
    return round;
  }

  /** The fault is over; its effects may continue. */
  end(): void {
    const round = this.rounds.at(-1);
    if (round !== undefined) round.endedMs = performance.now();
  }

  succeeded(order: Pick<Failure, "replica" | "site" | "sentMs">): void {
    const round = this.rounds.at(-1);
    const key = replicaAndSite(order);
    if (round === undefined || order.sentMs < round.endedMs || round.recoveredMs.has(key)) return;
    round.recoveredMs.set(key, performance.now());
  }

  /** A replica got a token because of a 401. */
  refreshForced(): void {
    this.#forcedRefreshesMs.push(performance.now());
  }

  failed(failure: Failure): void {
    const cause = this.#explain(failure) ?? this.#explainByLimit(failure);
    const round = cause ?? this.rounds.at(-1);
    for (const counts of [this.failures, round?.failures]) {
      counts?.set(failure.label, (counts.get(failure.label) ?? 0) + 1);
    }
    if (cause !== undefined) return;
    this.unexplained += 1;
    if (round !== undefined) round.unexplained += 1;
    if (this.unexplainedFailures.length >= longestList) return;
    this.unexplainedFailures.push({ ...failure, during: round?.fault.name ?? "warming up" });
  }

  #explain(failure: Failure): Round | undefined {
    const latest = this.rounds.slice(-mostOpen);
    return explain(
      failure,
      this.rounds.filter((round) => round.endedMs >= failure.sentMs || latest.includes(round)),
    );
  }

  /**
   * Tokens were revoked more often than 401s may cause refreshes: 401s are passed on until the token is known to be revoked, and
   * while the last forced refresh delays the next one.
   */
  #explainByLimit(failure: Failure): Round | undefined {
    const lately = this.#forcedRefreshesMs.filter((atMs) => atMs > failure.endedMs - forcedRefreshMemoryMs);
    if (failure.label !== "service 401" || lately.length === 0) return undefined;
    const round = this.#explain({ ...failure, label: revoked });
    const isHeldBack = lately.some((atMs) => atMs <= failure.endedMs && failure.sentMs < atMs + firstWindowMs);
    return isHeldBack || (round?.failures.get(failure.label) ?? 0) < mostPassedOn ? round : undefined;
  }
}

/**
 * The fault that explains a failure: it lasted while the order was on its way, or its replica had not recovered
 * from it when the order was sent, and it may cause this kind of failure.
 */
export function explain<Episode extends Pick<Round, "fault" | "startedMs" | "recoveredMs">>(
  failure: Failure,
  rounds: readonly Episode[],
): Episode | undefined {
  return rounds.find(({ fault, startedMs, recoveredMs }) => {
    const openUntilMs = recoveredMs.get(replicaAndSite(failure)) ?? Number.POSITIVE_INFINITY;
    return fault.allows.includes(failure.label) && failure.endedMs >= startedMs && failure.sentMs <= openUntilMs;
  });
}
