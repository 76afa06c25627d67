import type { RefreshReason } from "../../src/model/events.ts";

/** What is counted, and by whom: requests by their caller, tokens and 401s by the service, reasons by the replicas. */
export type FleetEvent =
  | {
      readonly kind: "answered";
      readonly replica: string;
      readonly durationMs: number;
      /** What went wrong, in a word or two; undefined for an order that was created. */
      readonly failure: string | undefined;
    }
  | {
      readonly kind: "token_requested";
      readonly replica: string;
      readonly reason: RefreshReason;
      readonly result: string;
    }
  | { readonly kind: "token_adopted"; readonly replica: string; readonly issuedHere: boolean }
  /** The service's own totals since the start. */
  | ({ readonly kind: "service_counted" } & ServiceCounts);

export interface ServiceCounts {
  readonly unauthorized: number;
  readonly tokensIssued: number;
  /** Different tokens that its latest requests carried. */
  readonly tokensInUse: number;
}

/** One token that a replica was given, by its own log. */
export interface Issue {
  readonly replica: string;
  readonly reason: RefreshReason;
}

export interface Totals {
  readonly requests: number;
  readonly failed: number;
  readonly slowestMs: number;
  readonly unauthorized: number;
  readonly tokensIssued: number;
  readonly tokensInUse: number;
  /** Tokens that arrived; one that its replica did not live to receive is among tokensIssued alone. */
  readonly issues: readonly Issue[];
  /** Replicas that took a token from Redis. */
  readonly takers: readonly string[];
}

export const noTotals: Totals = {
  requests: 0,
  failed: 0,
  slowestMs: 0,
  unauthorized: 0,
  tokensIssued: 0,
  tokensInUse: 0,
  issues: [],
  takers: [],
};

/** The totals after one more event. */
export function count(totals: Totals, event: FleetEvent): Totals {
  switch (event.kind) {
    case "answered":
      return {
        ...totals,
        requests: totals.requests + 1,
        failed: totals.failed + (event.failure === undefined ? 0 : 1),
        slowestMs: Math.max(totals.slowestMs, event.durationMs),
      };
    case "token_requested": {
      if (event.result !== "issued") return totals;
      const { replica, reason } = event;
      return { ...totals, issues: [...totals.issues, { replica, reason }] };
    }
    case "token_adopted": {
      const { takers } = totals;
      if (event.issuedHere || takers.includes(event.replica)) return totals;
      return { ...totals, takers: [...takers, event.replica].sort() };
    }
    case "service_counted": {
      const { unauthorized, tokensIssued, tokensInUse } = event;
      return { ...totals, unauthorized, tokensIssued, tokensInUse };
    }
  }
}

/** Totals of the chapter that is being told, and of all so far. */
export class Account {
  #all = noTotals;
  #here = noTotals;
  /** The service counts from its start; this is where the chapter began. */
  #base = noTotals;

  get all(): Totals {
    return this.#all;
  }

  get here(): Totals {
    const { unauthorized, tokensIssued } = this.#base;
    return {
      ...this.#here,
      unauthorized: this.#all.unauthorized - unauthorized,
      tokensIssued: this.#all.tokensIssued - tokensIssued,
    };
  }

  add(event: FleetEvent): void {
    this.#all = count(this.#all, event);
    this.#here = count(this.#here, event);
  }

  openChapter(): void {
    this.#base = this.#all;
    this.#here = noTotals;
  }
}
