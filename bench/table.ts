import { paint } from "../src/cli/terminal.ts";

/** A column of a bench's table. `show` receives a row, and the data that all rows share. */
export interface Column<Row, Common> {
  readonly title: string;
  readonly width: number;
  readonly show: (row: Row, common: Common) => string;
}

/** A target, and the measured value. */
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
