import { paint } from "../../src/cli/terminal.ts";
import type { Issue, Totals } from "./account.ts";
import { formatNumber, type Row } from "./judge.ts";

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

/** The sum in lines: figure, what belongs to it, and the verdict. */
export function formatSum(rows: readonly Row[]): string[] {
  return rows.map(({ label, here, promised, remark = "", isKept }) => {
    const note = promised === undefined ? remark : `promised: ${promised}`;
    const line = `   ${label.padEnd(17)}${here.padStart(9)}    ${note}`.padEnd(72);
    if (isKept === undefined) return line.trimEnd();
    return `${line}${paint(isKept ? "green" : "red", (isKept ? "ok" : "NOT KEPT").padStart(8))}`;
  });
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
