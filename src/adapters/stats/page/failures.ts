import { type FailureCode, failures } from "../../../model/errors.ts";
import type { StatusSnapshot } from "../stats.ts";
import type { Occurrence } from "../sums.ts";
import { serviceRefusal } from "./headline.ts";
import {
  type Column,
  folded,
  type Html,
  html,
  nothing,
  section,
  showCount,
  showPlace,
  showSentence,
  showTime,
  table,
} from "./html.ts";

interface Failure extends Occurrence {
  /** A code, or what the service or the authorization server answered. */
  readonly what: string;
  readonly place: Html;
  readonly meaning: string;
}

const columns = (now: string): readonly Column<Failure>[] => [
  ["Failure", ({ what }) => html`<code>${what}</code>`],
  ["Times", ({ count }) => count, "number"],
  ["Last", ({ lastAt }) => showTime(lastAt, now)],
  ["Where", ({ place }) => place],
  ["What it means", ({ meaning }) => showSentence(meaning)],
];

/** Failures with their place, time and meaning: of Countersign; and what the service and the authorization server refused or failed to do. */
export function failuresAndRefusals({ environments, credentials, at }: StatusSnapshot): Html {
  const tallies = environments.flatMap(({ name, sites, withoutSite }) => [
    ...sites.map(({ identifier, tally }) => ({ place: showPlace(name, identifier), tally })),
    { place: showPlace(name, undefined), tally: withoutSite },
  ]);
  const rowsOf = (kind: "failures" | "refusals", meaningOf: (what: string) => string): Failure[] =>
    tallies.flatMap(({ place, tally }) =>
      Object.entries(tally[kind]).map(([what, occurrence]) => {
        return { what, ...occurrence, place, meaning: meaningOf(what) };
      }),
    );
  const ofSets = credentials.flatMap(({ environment, credential, requests: { refused } }): Failure[] => {
    const meaning = "The authorization server refused the set.";
    return refused ? [{ what: "refused", ...refused, place: showPlace(environment, credential), meaning }] : [];
  });
  const failed = rowsOf("failures", (code) => failures[code as FailureCode].meaning);
  const isMistake = ({ what }: Failure) => failures[what as FailureCode].status < 500;
  const mistakes = failed.filter(isMistake);
  const own = failed.filter((failure) => !isMistake(failure));
  const refusals = rowsOf("refusals", (status) => `Answered by the service. ${serviceRefusal(status, false)}`);
  const content = html`<h3>Of Countersign itself</h3>
${showTable("Failures", own, at)}${foldMistakes(mistakes, at)}
<h3>Of the service and the authorization server</h3>
${showTable("Of the service and the authorization server", [...ofSets, ...refusals], at)}`;
  return section("failures", "Failures", content);
}

/** Each caller sees its own mistakes: here they are folded, below what only an operator can see. */
function foldMistakes(mistakes: readonly Failure[], now: string): Html {
  const times = mistakes.reduce((sum, { count }) => sum + count, 0);
  const summary = html`Callers&rsquo; mistakes: ${showCount(times)}`;
  return times === 0 ? nothing : folded(summary, showTable("Callers’ mistakes", mistakes, now));
}

function showTable(caption: string, all: readonly Failure[], now: string): Html {
  if (all.length === 0) return html`<p class="soft">None.</p>`;
  const newestFirst = all.toSorted((one, other) => other.lastAt.localeCompare(one.lastAt));
  return table(`${caption}, newest first`, columns(now), newestFirst);
}
