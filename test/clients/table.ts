/** The tables of docs/clients.md: a row for each client, written by `npm run clients` and read by the tests. */
import { readFileSync, writeFileSync } from "node:fs";
import type { Client } from "./clients.ts";

const page = "docs/clients.md";

/** Cells by the head of their column, in the words of the page. */
export type Row = Readonly<Record<string, string | undefined>>;

/** A table between two marks of the page. */
export interface Table<Column extends string> {
  readonly name: string;
  /** The head of each column after the first one. */
  readonly heads: Readonly<Record<Column, string>>;
}

export const behaviour: Table<
  "version" | "again" | "setting" | "againSet" | "twice" | "proxied" | "connections" | "also"
> = {
  name: "behaviour",
  heads: {
    version: "measured with",
    again: "sends an order again",
    setting: "setting",
    againSet: "sends it again with the setting",
    twice: "arrives twice through Countersign",
    proxied: "goes through a proxy that is set",
    connections: "connections for 100 orders",
    also: "also",
  },
};

/** The rows of a table, by the name of the client, in page order. */
export function readRows<Column extends string>(table: Table<Column>): Map<string, Partial<Record<Column, string>>> {
  const { text, from, to } = find(table);
  const columns = Object.keys(table.heads);
  const lines = text.slice(from, to).split("\n").slice(2);
  return new Map(
    lines.map((line) => {
      const [first = "", ...cells] = line.slice(2, -2).split(" | ");
      const row = Object.fromEntries(columns.map((column, index) => [column, cells[index]]));
      return [/^\[(.+)\]/.exec(first)?.[1] ?? first, row as Partial<Record<Column, string>>];
    }),
  );
}

/** Rewrites the table. Cells that were not measured stay. */
export function writeRows<Column extends string>(
  table: Table<Column>,
  clients: readonly Client[],
  measured: ReadonlyMap<string, Row>,
): void {
  const before = readRows(table);
  const { text, from, to } = find(table);
  const columns = Object.keys(table.heads) as Column[];
  const rows = clients.flatMap(({ name, source }) => {
    const row: Row = { ...before.get(name), ...measured.get(name) };
    if (!before.has(name) && !measured.has(name)) return [];
    return [[`[${name}](../${source})`, ...columns.map((column) => row[column] ?? "")]];
  });
  const cells = [["client", ...columns.map((column) => table.heads[column])], ...rows];
  const [head = "", ...lines] = cells.map((row) => `| ${row.join(" | ")} |`);
  const rule = `|${"---|".repeat(columns.length + 1)}`;
  writeFileSync(page, `${text.slice(0, from)}${[head, rule, ...lines].join("\n")}${text.slice(to)}`);
}

/** @throws Error if the page has no marks of the table */
function find({ name }: Table<never>): { text: string; from: number; to: number } {
  const text = readFileSync(page, "utf8");
  const begin = `<!-- ${name}: written by npm run clients -->\n`;
  const from = text.indexOf(begin) + begin.length;
  const to = text.indexOf("\n<!-- end -->", from);
  if (from < begin.length || to === -1) throw new Error(`${page} has no marks of the table ${name}`);
  return { text, from, to };
}
