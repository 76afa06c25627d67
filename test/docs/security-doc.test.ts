/** docs/security.md: fails if a row loses its proof, or a test its row. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const text = readFileSync("docs/security.md", "utf8");
const rows = [...text.matchAll(/^\| (\d+a?) \| .+ \| (.+) \|$/gm)].map(
  ([, row = "", proof = ""]) => [row, proof] as const,
);

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => String(from + n));
const promised = [...numbers(1, 12), "12a", ...numbers(13, 78), ...numbers(80, 107), "111"];

it("the page has each row once", () => {
  const found = rows.map(([row]) => row);
  expect(found.toSorted((a, b) => promised.indexOf(a) - promised.indexOf(b))).toEqual(promised);
});

describe.each(rows)("row %s", (row, proof) => {
  const files = [...proof.matchAll(/\]\(([^)]+)\)/g)].map(([, link = ""]) => join("docs", link));

  it("is proved by tests that exist and name the row", () => {
    expect(files.length).toBeGreaterThan(0);
    const lost = files.filter((file) => !existsSync(file) || !rowsNamedIn(readFileSync(file, "utf8")).has(row));
    expect(lost).toEqual([]);
  });
});

/** The rows that a test claims to prove: "row 7", "rows 8, 46, 48", "Rows 13 to 17". */
function rowsNamedIn(source: string): ReadonlySet<string> {
  const named = new Set<string>();
  for (const [, list = ""] of source.matchAll(/\brows? (\d+a?(?:(?:,| and| to) \d+a?)*)/gi)) {
    const [first = "", ...others] = list.split(/,? (?:and )?(?=\d|to )/);
    named.add(first);
    for (const other of others) named.add(other.replace(/^to /, ""));
    for (const [, from, to] of list.matchAll(/(\d+) to (\d+)/g)) {
      for (const row of numbers(Number(from), Number(to))) named.add(row);
    }
  }
  return named;
}
