import type { FailureCode, Outcome } from "countersign/model/errors";

/** The facts about a scene that is over; the expected facts have the same form. */
export interface Facts {
  /** HTTP status that the application got; undefined when it got no answer. */
  readonly status: number | undefined;
  /** Countersign-Outcome. */
  readonly outcome: Outcome | undefined;
  /** Countersign-Error. */
  readonly error: FailureCode | undefined;
  /** Countersign-Attempts. */
  readonly attempts: 2 | undefined;
  /** Requests that reached the service. */
  readonly seen: number;
  /** Site and proof of each of these requests. Tokens are numbered in the order of their first use. */
  readonly arrived: readonly string[];
  /** Orders created: each passed every check of the service. */
  readonly created: number;
  /** 401 answers of the service. */
  readonly unauthorized: number;
  /** Requests to the authorization server. */
  readonly tokenRequests: number;
}

const names: Readonly<Record<keyof Facts, string>> = {
  status: "status",
  outcome: "Countersign-Outcome",
  error: "Countersign-Error",
  attempts: "Countersign-Attempts",
  seen: "requests that the service saw",
  arrived: "how they arrived",
  created: "orders created",
  unauthorized: "401 answers of the service",
  tokenRequests: "token requests",
};

/** Every fact that differs from the expected one; empty if none does. */
export function judge(expected: Facts, observed: Facts): string[] {
  return (Object.keys(names) as (keyof Facts)[])
    .filter((name) => show(expected[name]) !== show(observed[name]))
    .map((name) => `${names[name]}: should be ${show(expected[name])}, is ${show(observed[name])}`);
}

function show(value: unknown): string {
  return value === undefined ? "absent" : JSON.stringify(value);
}
