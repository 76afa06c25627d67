import type { RefreshReason } from "../../src/model/events.ts";
import type { Totals } from "./account.ts";

/** What a chapter promises beforehand. That no request fails is promised by all of them. */
export interface Promised {
  /** Issued by the service. */
  readonly tokens: number;
  /** Those of them that their replica did not live to receive. */
  readonly lost?: number;
  /** Why, if any: nothing else will do. */
  readonly reasons: readonly RefreshReason[];
  /** Replicas that get one token each, in place of one for all. */
  readonly forEach?: readonly string[];
  /** Whether the service answers 401 to anything. */
  readonly unauthorized: boolean;
  /** Different tokens that the replicas use in the end. */
  readonly inUse: number;
}

/** One line of the account; without `promised` it is for information. */
export interface Row {
  readonly label: string;
  readonly here: string;
  readonly inAll?: string;
  readonly promised?: string;
  readonly remark?: string;
  readonly isKept?: boolean;
}

/** The account of a chapter against what it promised. */
export function judge(promised: Promised, here: Totals, all: Totals): Row[] {
  const row = (label: string, value: number, inAll: number | undefined, wanted: string, isKept: boolean): Row => ({
    label,
    here: formatNumber(value),
    ...(inAll === undefined ? {} : { inAll: formatNumber(inAll) }),
    promised: wanted,
    isKept,
  });
  const { requests, failed, unauthorized, tokensIssued, tokensInUse } = here;
  const { tokens, inUse } = promised;
  const is401Kept = unauthorized > 0 === promised.unauthorized;
  return [
    row("requests", requests, all.requests, "some", requests > 0),
    row("failed", failed, all.failed, "0", failed === 0),
    row("401 answers", unauthorized, all.unauthorized, promised.unauthorized ? "some" : "0", is401Kept),
    row("tokens issued", tokensIssued, all.tokensIssued, `${tokens}`, tokensIssued === tokens),
    { label: "why", ...judgeReasons(promised, here) },
    row("tokens in use", tokensInUse, undefined, `${inUse}`, tokensInUse === inUse),
    { label: "slowest answer", here: `${formatNumber(Math.ceil(here.slowestMs))} ms` },
  ];
}

/** Every token that was issued has a reason in a replica's log, the one that was promised. */
function judgeReasons({ reasons, lost = 0, forEach }: Promised, here: Totals): Omit<Row, "label"> {
  const { issues, takers, tokensIssued } = here;
  const lostHere = tokensIssued - issues.length;
  const kinds = [...new Set(issues.map(({ reason }) => reason))];
  const askers = issues.map(({ replica }) => replica).sort();
  const parts = [
    ...kinds.map((kind) => `${kind} (${list(issues.filter(({ reason }) => reason === kind))})`),
    ...(lostHere === 0 ? [] : [`${lostHere} lost`]),
    ...(takers.length === 0 ? [] : [`from Redis: ${takers.join(" ")}`]),
  ];
  const isEachServed = forEach === undefined || askers.join() === [...forEach].sort().join();
  const isKept = lostHere === lost && isEachServed && kinds.every((kind) => reasons.includes(kind));
  return {
    here: parts.length === 0 ? "–" : parts.join("; "),
    promised: describeReasons({ reasons, lost, ...(forEach === undefined ? {} : { forEach }) }),
    isKept,
  };
}

function describeReasons({ reasons, lost = 0, forEach }: Pick<Promised, "reasons" | "lost" | "forEach">): string {
  const parts = [
    reasons.length === 0 ? "–" : reasons.join(" or "),
    ...(forEach === undefined ? [] : [`once for each of ${forEach.join(" ")}`]),
    ...(lost === 0 ? [] : [`${lost} lost`]),
  ];
  return parts.join(", ");
}

function list(issues: Totals["issues"]): string {
  return issues.map(({ replica }) => replica).join(" ");
}

/** The promises that were broken, in a sentence each. */
export function brokenPromises(rows: readonly Row[]): string[] {
  return rows
    .filter(({ isKept }) => isKept === false)
    .map(({ label, here, promised }) => `${label}: promised ${promised}, counted ${here}`);
}

/** `1,024`, wherever the machine stands. */
export function formatNumber(value: number): string {
  return value.toLocaleString("en-GB");
}
