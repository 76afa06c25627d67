import type { CallerStatus, StatusSnapshot } from "../snapshot.ts";
import { type Column, foldedTable, type Html, html, nothing, quiet, section, showCount, showName } from "./html.ts";
import { showTime } from "./times.ts";

const columns: readonly Column[] = [
  "Caller",
  "Where",
  "May use",
  { number: "Requests" },
  { number: "Not allowed" },
  { number: "Too many" },
  "Last",
];

/** Who calls, what each may do, and how much it did; nothing where no caller has a name. */
export function callers({ callers: all, at }: StatusSnapshot): Html {
  if (all === undefined) return nothing;
  return section(
    "callers",
    "Callers",
    foldedTable(
      "Callers by name",
      columns,
      all.map((caller) => showCaller(caller, at)),
    ),
  );
}

function showCaller(
  { name, environment, listener, by, sites, operations, requestsPerSecond, tally }: CallerStatus,
  now: string,
): Html[] {
  const { answeredBy, failures, lastAt } = tally;
  const show = (figure: number) => (figure === 0 ? quiet(0) : html`${showCount(figure)}`);
  const rate = requestsPerSecond === undefined ? "" : `, ${requestsPerSecond} a second`;
  const rights = `${showRight(sites, "site")}, ${showRight(operations, "operation")}${rate}`;
  return [
    html`${showName(name)} ${quiet(`by ${by}`)}`,
    html`${environment} ${showName(listener)}`,
    html`${rights}`,
    show(answeredBy.service + answeredBy.countersign),
    show(failures["caller_not_allowed"]?.count ?? 0),
    show(failures["caller_rate_limited"]?.count ?? 0),
    lastAt === undefined ? quiet("never") : showTime(lastAt, now),
  ];
}

const mostShown = 3;

function showRight(names: readonly string[], what: string): string {
  if (names.includes("*")) return `every ${what}`;
  const more = names.length > mostShown ? ` and ${names.length - mostShown} more` : "";
  return `${names.slice(0, mostShown).join(", ")}${more}`;
}
