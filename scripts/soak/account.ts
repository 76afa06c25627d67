import { limitForDoubtful } from "../../src/oauth/forced-refresh-policy.ts";
import { type Episode, explain, type Failure, replicaAndSite } from "./explain.ts";
import type { Fault } from "./fault.ts";
import { revoked } from "./faults-of-tokens.ts";

/** One fault and the calm after it. */
export interface Round extends Episode {
  /** 1 for the first. */
  readonly number: number;
  readonly fault: Fault;
  /** That it explains, or that nothing explains while it is the latest. */
  readonly failures: ReadonlyMap<string, number>;
  readonly unexplained: number;
  /** Infinite while the fault lasts. */
  readonly endedMs: number;
}

export interface Unexplained extends Failure {
  /** What was going on. */
  readonly during: string;
}

interface OpenRound extends Round {
  readonly failures: Map<string, number>;
  readonly recoveredMs: Map<string, number>;
  unexplained: number;
  endedMs: number;
}

/** More are counted, but not kept. */
const mostKept = 20;
/** A fault further back, over before the order was sent, explains nothing: each is recovered from before the next begins. */
const mostOpen = 3;
/** A 401 costs no token for the rest of the minute in which others have cost so many. */
const limitedForMs = 60_000;
/** Five 401s in a row show each replica that a token is dead, where it has seen but a few answers (forced-refresh-policy.ts). */
const mostPassedOn = 10;

/** The account of failures, and of the faults that explain them. */
export class Account {
  readonly #rounds: OpenRound[] = [];
  readonly failures = new Map<string, number>();
  readonly kept: Unexplained[] = [];
  readonly #forcedRefreshesMs: number[] = [];
  #unexplained = 0;

  get rounds(): readonly Round[] {
    return this.#rounds;
  }

  get unexplained(): number {
    return this.#unexplained;
  }

  begin(fault: Fault): Round {
    const round: OpenRound = {
      number: this.#rounds.length + 1,
      fault,
      allows: fault.allows,
      startedMs: performance.now(),
      endedMs: Number.POSITIVE_INFINITY,
      recoveredMs: new Map(),
      failures: new Map(),
      unexplained: 0,
    };
    this.#rounds.push(round);
    return round;
  }

  /** The fault is over; what it has left behind may not be. */
  end(): void {
    const round = this.#rounds.at(-1);
    if (round !== undefined) round.endedMs = performance.now();
  }

  succeeded(order: Pick<Failure, "replica" | "site" | "sentMs">): void {
    const round = this.#rounds.at(-1);
    const key = replicaAndSite(order);
    if (round === undefined || order.sentMs < round.endedMs || round.recoveredMs.has(key)) return;
    round.recoveredMs.set(key, performance.now());
  }

  /** A replica was given a token because of a 401. */
  refreshForced(): void {
    this.#forcedRefreshesMs.push(performance.now());
  }

  failed(failure: Failure): void {
    const cause = this.#explain(failure) ?? this.#explainByLimit(failure);
    const round = cause ?? this.#rounds.at(-1);
    for (const counts of [this.failures, round?.failures]) {
      counts?.set(failure.label, (counts.get(failure.label) ?? 0) + 1);
    }
    if (cause !== undefined) return;
    this.#unexplained += 1;
    if (round !== undefined) round.unexplained += 1;
    if (this.kept.length < mostKept) this.kept.push({ ...failure, during: round?.fault.name ?? "warming up" });
  }

  #explain(failure: Failure): OpenRound | undefined {
    const latest = this.#rounds.slice(-mostOpen);
    return explain(
      failure,
      this.#rounds.filter((round) => round.endedMs >= failure.sentMs || latest.includes(round)),
    );
  }

  /** Revoked tokens, more often than 401s may cost new ones: the first 401s are passed on, until the token is shown to be dead. */
  #explainByLimit(failure: Failure): OpenRound | undefined {
    const isLimited =
      this.#forcedRefreshesMs.filter((atMs) => atMs > failure.endedMs - limitedForMs).length >= limitForDoubtful;
    if (failure.label !== "service 401" || !isLimited) return undefined;
    const round = this.#explain({ ...failure, label: revoked });
    return (round?.failures.get(failure.label) ?? 0) < mostPassedOn ? round : undefined;
  }
}
