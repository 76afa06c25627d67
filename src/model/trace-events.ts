/** Events of the spans that tracing exports. */
export type TraceEvent =
  /** The collector has taken spans. */
  | { readonly kind: "spans_exported"; readonly count: number }
  | {
      /** Spans that no collector will have. */
      readonly kind: "spans_lost";
      /** `dropped`: they were not sent, since too many waited, or at the end. `rejected`: the collector refused them. */
      readonly result: "dropped" | "rejected";
      readonly count: number;
      /** `no room`, `the end`, or the collector's status. */
      readonly cause: string;
      /** The first of its kind for a minute. */
      readonly isFirst: boolean;
    }
  | {
      /** The collector took nothing now; the spans are sent again. */
      readonly kind: "spans_delayed";
      /** How many wait. */
      readonly waiting: number;
      /** A code of the connection, or the collector's status. */
      readonly cause: string;
      readonly pauseMs: number;
      /** The first of its kind for a minute. */
      readonly isFirst: boolean;
    };

/** What became of spans. */
export const spanResults = ["exported", "dropped", "rejected"] as const;
