import { paint } from "../src/cli/terminal.ts";

/** A column of what a bench prints: `show` is given a row, and what all rows have in common. */
export interface Column<Row, Common> {
  readonly title: string;
  readonly width: number;
  readonly show: (row: Row, common: Common) => string;
}

/** What was to be reached, and what was. */
export interface Target {
  readonly what: string;
  readonly wanted: string;
  readonly measured: string;
  readonly isReached: boolean;
}

export function formatHead(columns: readonly Column<never, never>[]): string {
  return paint("dim", columns.map(({ title, width }) => title.padStart(width)).join(" "));
}

export function formatRow<Row, Common>(columns: readonly Column<Row, Common>[], row: Row, common: Common): string {
  return columns.map(({ width, show }) => show(row, common).padStart(width)).join(" ");
}

export function formatTarget({ what, wanted, measured, isReached }: Target): string {
  const mark = paint(isReached ? "green" : "red", isReached ? "reached" : "MISSED");
  return `${what.padEnd(58)} ${wanted.padEnd(30)} ${measured.padEnd(26)} ${mark}`;
}
