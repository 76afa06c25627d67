import { type FailureCode, failureCodes, failures } from "../../../errors.ts";
import type { Occurrence, StatusSnapshot, Tally } from "../snapshot.ts";
import { type Html, html } from "./html.ts";
import { showCount, showPlace, showSentence } from "./prose.ts";
import { table } from "./table.ts";
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

/** How Countersign failed to serve, where and when last, and what each code means. */
export function failureTable({ environments, at }: StatusSnapshot): Html {
  const rows = environments.flatMap(({ name, sites, withoutSite }) => [
    ...sites.flatMap(({ identifier, tally }) => rowsOf(tally, showPlace(name, identifier))),
    ...rowsOf(withoutSite, showPlace(name, undefined)),
  ]);
  rows.sort((one, other) => other.lastAt.localeCompare(one.lastAt));
  const cells = rows.map(({ code, count, lastAt, place }) => [
    html`<code>${code}</code>`,
    html`${showCount(count)}`,
    showTime(lastAt, at),
    place,
    showSentence(failures[code].meaning),
  ]);
  return html`<h3>Failures</h3>
${cells.length === 0 ? html`<p class="soft">None.</p>` : table("Failures, newest first", columns, cells)}`;
}

function rowsOf(tally: Tally, place: Html): FailureRow[] {
  return failureCodes.flatMap((code) => {
    const occurrence = tally.failures[code];
    return occurrence === undefined ? [] : [{ code, place, ...occurrence }];
  });
}
