import { type FailureCode, failureCodes, failures } from "../../../model/errors.ts";
import type { Occurrence, StatusSnapshot, Tally } from "../snapshot.ts";
import { type Html, html, nothing } from "./html.ts";
import { showCount, showPlace, showSentence } from "./prose.ts";
import { refusalTable } from "./refusals.ts";
import { foldedTable } from "./table.ts";
import { showTime } from "./times.ts";

const columns = [
  { title: "Failure" },
  { title: "Times", isNumber: true },
  { title: "Last" },
  { title: "Site" },
  { title: "What it means" },
];

interface FailureRow extends Occurrence {
  readonly code: FailureCode;
  readonly place: Html;
}

/** How Countersign failed to serve, where and when last, and what each code means; whom authorization server and service refused. */
export function failuresAndRefusals(snapshot: StatusSnapshot): Html {
  const { environments, at } = snapshot;
  const rows = environments.flatMap(({ name, sites, withoutSite }) => [
    ...sites.flatMap(({ identifier, tally }) => rowsOf(tally, showPlace(name, identifier))),
    ...rowsOf(withoutSite, showPlace(name, undefined)),
  ]);
  rows.sort((one, other) => other.lastAt.localeCompare(one.lastAt));
  const ours = rows.filter(({ code }) => failures[code].status >= 500);
  const mistakes = rows.filter(({ code }) => failures[code].status < 500);
  return html`<section aria-labelledby="failures"><h2 id="failures">Failures</h2>
${ours.length === 0 ? html`<p class="soft">None.</p>` : show("Failures, newest first", ours, at)}${foldMistakes(mistakes, at)}
${refusalTable(snapshot)}</section>
`;
}

/** A caller's mistake is the caller's to see: here it would only push other things out of sight. */
function foldMistakes(rows: readonly FailureRow[], now: string): Html {
  const [last] = rows;
  if (last === undefined) return nothing;
  const times = rows.reduce((sum, { count }) => sum + count, 0);
  return html`<details><summary>Callers’ mistakes: ${showCount(times)}, last ${showTime(last.lastAt, now)}</summary>
${show("Callers’ mistakes, newest first", rows, now)}</details>
`;
}

function show(caption: string, rows: readonly FailureRow[], now: string): Html {
  const cells = rows.map(({ code, count, lastAt, place }) => [
    html`<code>${code}</code>`,
    html`${showCount(count)}`,
    showTime(lastAt, now),
    place,
    showSentence(failures[code].meaning),
  ]);
  return foldedTable(caption, columns, cells);
}

function rowsOf(tally: Tally, place: Html): FailureRow[] {
  return failureCodes.flatMap((code) => {
    const occurrence = tally.failures[code];
    return occurrence === undefined ? [] : [{ code, place, ...occurrence }];
  });
}
