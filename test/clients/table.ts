/** The tables of docs/clients.md: a row for each client, written by `npm run clients` and read by the tests. */
import { readFileSync, writeFileSync } from "node:fs";

const page = "docs/clients.md";

const heads = {
  version: "measured with",
  connections: "connections for 100 calls",
  sendsAgain: "sends an order again",
  withProxy: "a proxy is set, an `http://` URL is called",
  loopbackWithProxy: "a proxy is set, a loopback URL is called",
} as const;

type Column = keyof typeof heads;

/** The measurements of a client, in the words of the page. */
export type Row = Readonly<Partial<Record<Column, string | undefined>>>;

/** A table between two marks of the page. */
export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly clients: readonly string[];
}

export const exampleColumns = Object.keys(heads) as readonly Column[];
/** The columns that are measured for a library with its defaults. */
export const comparisonColumns: readonly Column[] = ["version", "connections", "sendsAgain"];

/** The rows of a table, by the name of the client, in page order. */
export function readRows(table: Table): Map<string, Row> {
  const { text, from, to } = find(table);
  const lines = text.slice(from, to).split("\n").slice(2);
  return new Map(
    lines.map((line) => {
      const [client = "", ...cells] = line.slice(2, -2).split(" | ");
      return [client, Object.fromEntries(table.columns.map((column, index) => [column, cells[index]]))];
    }),
  );
}

/** Rewrites the table. Clients that were not measured keep their row. */
export function writeRows(table: Table, measured: ReadonlyMap<string, Row>): void {
  const rows = new Map([...readRows(table), ...measured]);
  const { text, from, to } = find(table);
  const written = table.clients.flatMap((client) => {
    const row = rows.get(client);
    return row === undefined ? [] : [[client, ...table.columns.map((column) => row[column] ?? "")]];
  });
  const cells = [["client", ...table.columns.map((column) => heads[column])], ...written];
  const [head = "", ...lines] = cells.map((row) => `| ${row.join(" | ")} |`);
  const rule = `|${"---|".repeat(table.columns.length + 1)}`;
  writeFileSync(page, `${text.slice(0, from)}${[head, rule, ...lines].join("\n")}${text.slice(to)}`);
}

/** @throws Error if the page has no marks of the table */
function find({ name }: Table): { text: string; from: number; to: number } {
  const text = readFileSync(page, "utf8");
  const begin = `<!-- ${name}: written by npm run clients -->\n`;
  const from = text.indexOf(begin) + begin.length;
  const to = text.indexOf("\n<!-- end -->", from);
  if (from < begin.length || to === -1) throw new Error(`${page} has no marks of the table ${name}`);
  return { text, from, to };
}
