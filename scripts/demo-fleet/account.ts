import { paint } from "../../src/cli/terminal.ts";
import type { RefreshReason } from "../../src/model/events.ts";
import type { LogLine } from "../../testkit/replicas.ts";

/** What is counted, and by whom: requests by their caller, tokens and 401s by the service, reasons by the replicas. */
export type FleetEvent =
  | {
      readonly kind: "answered";
      readonly durationMs: number;
      /** What went wrong, in a word or two; undefined for an order that was created. */
      readonly failure: string | undefined;
    }
  | { readonly kind: "logged"; readonly replica: string; readonly line: LogLine }
  /** The service's own totals since the start. */
  | { readonly kind: "service_counted"; readonly counts: ServiceCounts };

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

export interface Totals extends ServiceCounts {
  readonly requests: number;
  readonly failed: number;
  readonly slowestMs: number;
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
function count(totals: Totals, event: FleetEvent): Totals {
  if (event.kind === "service_counted") return { ...totals, ...event.counts };
  if (event.kind === "answered") {
    return {
      ...totals,
      requests: totals.requests + 1,
      failed: totals.failed + (event.failure === undefined ? 0 : 1),
      slowestMs: Math.max(totals.slowestMs, event.durationMs),
    };
  }
  const { replica, line } = event;
  const { issues, takers } = totals;
  if (line.event === "token_requested" && line.result === "issued") {
    return { ...totals, issues: [...issues, { replica, reason: line.reason }] };
  }
  if (line.event === "token_adopted" && !line.issuedHere && !takers.includes(replica)) {
    return { ...totals, takers: [...takers, replica].sort() };
  }
  return totals;
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

/** The whole account: what the callers, the service and the replicas counted must agree. */
export function sumUp(all: Totals, ordersCreated: number): Row[] {
  const { requests, failed, unauthorized, tokensIssued, issues } = all;
  const lost = tokensIssued - issues.length;
  return [
    { label: "requests", here: formatNumber(requests) },
    figure("failed", failed, 0),
    figure("orders created", ordersCreated, requests),
    { label: "401 answers", here: formatNumber(unauthorized) },
    { label: "tokens issued", here: formatNumber(tokensIssued) },
    ...groupByReason(issues).map(([reason, names]): Row => {
      return { label: `   ${reason}`, here: `${names.length}`, remark: names.join(" ") };
    }),
    ...(lost === 0 ? [] : [{ label: "   lost", here: `${lost}`, remark: "its replica was killed before it arrived" }]),
  ];
}

function figure(label: string, value: number, wanted: number): Row {
  return { label, here: formatNumber(value), promised: formatNumber(wanted), isKept: value === wanted };
}

function groupByReason(issues: readonly Issue[]): [string, string[]][] {
  const reasons = [...new Set(issues.map(({ reason }) => reason))];
  return reasons.map((reason) => [
    reason,
    issues.filter((issue) => issue.reason === reason).map(({ replica }) => replica),
  ]);
}

/** `1,024`, wherever the machine stands. */
export function formatNumber(value: number): string {
  return value.toLocaleString("en-GB");
}

const width = 80;
const labelWidth = 17;
const columns = { here: 9, inAll: 10, promised: 12 };

/** The account below a chapter. A text that is no number stands alone on its line. */
export function formatAccount(rows: readonly Row[]): string[] {
  const head = ["here".padStart(columns.here), "in all".padStart(columns.inAll), "promised".padStart(columns.promised)];
  return [paint("dim", `   ${"".padEnd(labelWidth)}${head.join("")}`), ...rows.flatMap(formatRow)];
}

function formatRow({ label, here, inAll, promised, isKept }: Row): string[] {
  const isText = !/^[\d,]+( ms)?$/.test(here);
  const figures = isText
    ? `${" ".repeat(columns.here - 1)}${here}`
    : `${here.padStart(columns.here)}${(inAll ?? "").padStart(columns.inAll)}${(promised ?? "").padStart(columns.promised)}`;
  const line = `   ${label.padEnd(labelWidth)}${figures}`;
  if (isKept === undefined) return [line.trimEnd()];
  const verdict = isKept ? "ok" : "NOT KEPT";
  const room = Math.max(1, width - line.length - verdict.length);
  const judged = `${line}${" ".repeat(room)}${paint(isKept ? "green" : "red", verdict)}`;
  return isText && !isKept ? [judged, `   ${"".padEnd(labelWidth)}        promised: ${promised}`] : [judged];
}

/** The sum in lines: figure, what belongs to it, and the verdict. */
export function formatSum(rows: readonly Row[]): string[] {
  return rows.map(({ label, here, promised, remark = "", isKept }) => {
    const note = promised === undefined ? remark : `promised: ${promised}`;
    const line = `   ${label.padEnd(17)}${here.padStart(9)}    ${note}`.padEnd(72);
    if (isKept === undefined) return line.trimEnd();
    return `${line}${paint(isKept ? "green" : "red", (isKept ? "ok" : "NOT KEPT").padStart(8))}`;
  });
}
