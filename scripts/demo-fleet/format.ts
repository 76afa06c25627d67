import { paint } from "../../src/cli/terminal.ts";
import type { Row } from "./judge.ts";

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
