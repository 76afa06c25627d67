import { type FailureCode, failureCodes, failures } from "../../../model/errors.ts";
import type { Occurrence, StatusSnapshot, Tally } from "../snapshot.ts";
import {
  type Column,
  folded,
  foldedTable,
  type Html,
  html,
  nothing,
  section,
  showCount,
  showPlace,
  showSentence,
  showTime,
} from "./html.ts";
import { because } from "./tokens.ts";

interface Failure extends Occurrence {
  readonly code: FailureCode;
  readonly place: Html;
}

interface Refusal extends Occurrence {
  readonly by: string;
  readonly place: Html;
  /** What the refused caller or set got. */
  readonly answer: string;
}

const failureColumns: readonly Column[] = ["Failure", { number: "Times" }, "Last", "Site", "What it means"];
const refusalColumns: readonly Column[] = ["By", { number: "Times" }, "Last", "Who", "With"];
const none = html`<p class="soft">None.</p>`;

/** Failures of Countersign with their place, time and meaning; and what the authorization server and the service refused or failed to do. */
export function failuresAndRefusals(snapshot: StatusSnapshot): Html {
  const { at } = snapshot;
  const all = failuresOf(snapshot).sort(newestFirst);
  const ours = all.filter(({ code }) => failures[code].status >= 500);
  const mistakes = all.filter(({ code }) => failures[code].status < 500);
  const refusals = refusalsOf(snapshot).sort(newestFirst);
  const content = html`<h3>Of Countersign itself</h3>
${ours.length === 0 ? none : showFailures("Failures, newest first", ours, at)}${foldMistakes(mistakes, at)}
<h3>Of the service and the authorization server</h3>
${refusals.length === 0 ? none : showRefusals(refusals, at)}`;
  return section("failures", "Failures", content);
}

function newestFirst(one: Occurrence, other: Occurrence): number {
  return other.lastAt.localeCompare(one.lastAt);
}

function failuresOf({ environments }: StatusSnapshot): Failure[] {
  const list = (tally: Tally, place: Html) =>
    failureCodes.flatMap((code) => {
      const occurrence = tally.failures[code];
      return occurrence === undefined ? [] : [{ code, place, ...occurrence }];
    });
  return environments.flatMap(({ name, sites, withoutSite }) => [
    ...sites.flatMap(({ identifier, tally }) => list(tally, showPlace(name, identifier))),
    ...list(withoutSite, showPlace(name, undefined)),
  ]);
}

/** Each caller sees its own mistakes: here they are folded, below what only an operator can see. */
function foldMistakes(mistakes: readonly Failure[], now: string): Html {
  const [last] = mistakes;
  if (last === undefined) return nothing;
  const times = mistakes.reduce((sum, { count }) => sum + count, 0);
  const summary = html`Callers&rsquo; mistakes: ${showCount(times)}, last ${showTime(last.lastAt, now)}`;
  return folded(summary, showFailures("Callers’ mistakes, newest first", mistakes, now));
}

function showFailures(caption: string, all: readonly Failure[], now: string): Html {
  const rows = all.map(({ code, count, lastAt, place }) => [
    html`<code>${code}</code>`,
    html`${showCount(count)}`,
    showTime(lastAt, now),
    place,
    showSentence(failures[code].meaning),
  ]);
  return foldedTable(caption, failureColumns, rows);
}

function refusalsOf({ environments, credentials }: StatusSnapshot): Refusal[] {
  const ofSets = credentials.flatMap(({ environment, credential, lastRefusal, requests }): Refusal[] => {
    if (lastRefusal === undefined) return [];
    const { at: lastAt, status, reason } = lastRefusal;
    const answer = `${status ?? "no status"}, asked ${because[reason]}`;
    const place = showPlace(environment, credential);
    return [{ by: "the authorization server", count: requests.refused ?? 0, lastAt, place, answer }];
  });
  const ofSites = environments.flatMap(({ name, sites }) =>
    sites.flatMap(({ identifier, tally }) =>
      Object.entries(tally.refusals).map(([status, occurrence]): Refusal => {
        const answer = `${status}, passed on to the caller`;
        return { by: "the service", ...occurrence, place: showPlace(name, identifier), answer };
      }),
    ),
  );
  return [...ofSets, ...ofSites];
}

function showRefusals(refusals: readonly Refusal[], now: string): Html {
  const rows = refusals.map(({ by, count, lastAt, place, answer }) => [
    html`${by}`,
    html`${showCount(count)}`,
    showTime(lastAt, now),
    place,
    html`${answer}`,
  ]);
  return foldedTable("Of the service and the authorization server, newest first", refusalColumns, rows);
}
