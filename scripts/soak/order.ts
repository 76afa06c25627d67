import type { Outcome } from "../../src/model/errors.ts";

/** What the caller was told about its order. */
export type Told =
  /** The service's own answer, whole. */
  | { readonly kind: "answered"; readonly status: number; readonly attempts: number }
  /** A failure answer of Countersign. */
  | {
      readonly kind: "failed";
      readonly status: number;
      readonly code: string;
      readonly outcome: string;
      readonly attempts: number;
    }
  /** The head of an answer came, its end did not. */
  | { readonly kind: "cut" }
  /** The caller did not wait for the answer. */
  | { readonly kind: "left" }
  /** No answer at all, or one that is no answer to this order. */
  | { readonly kind: "broken"; readonly why: string };

/** What the service made of a request when it arrived. `replaced`: a fault answered in its place, and no order exists. */
export type Sighting = "accepted" | "replaced" | "unauthorized" | "refused";

/** The replica's access line. */
export interface Logged {
  readonly status: number;
  readonly outcome: Outcome;
}

/** Everything that is known of one order, from three sides. */
export interface Order {
  readonly told: Told;
  /** In the order in which they arrived at the service. */
  readonly seen: readonly Sighting[];
  readonly logged: readonly Logged[];
  /** Its replica was killed (SIGKILL), so that it may have taken what it knew with it. */
  readonly isOrphan: boolean;
}

/** What stands in the account of failures; undefined for an order that was created, and for a caller that left. */
export function labelOf(told: Told): string | undefined {
  switch (told.kind) {
    case "answered":
      return told.status === 200 ? undefined : `service ${told.status}${told.attempts === 2 ? " twice" : ""}`;
    case "failed":
      return `${told.code} ${told.outcome}`;
    case "cut":
      return "cut unknown";
    case "left":
      return undefined;
    case "broken":
      return `no answer (${told.why})`;
  }
}
