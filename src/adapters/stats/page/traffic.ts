import { describeDuration } from "../../../model/clock.ts";
import { describeUnreachable, type Peer } from "../../../model/connect-failure.ts";
import { type FailureCode, failures, isMistake } from "../../../model/errors.ts";
import { statusClasses, untaken } from "../../../model/events.ts";
import { listNames } from "../../../model/names.ts";
import { explainAnswer, explainCallback, inSentences } from "../../../model/service-answer.ts";
import type {
  CallbackFailureStatus,
  CallbackStatus,
  CallerStatus,
  EnvironmentStatus,
  SiteStatus,
  StatusSnapshot,
} from "../stats.ts";
import { type Occurrence, sumOf } from "../sums.ts";
import {
  type Column,
  definitions,
  describeAge,
  folded,
  type Html,
  help,
  html,
  nothing,
  quiet,
  section,
  showCount,
  showName,
  shownRows,
  showPlace,
  showSentence,
  showTime,
  table,
} from "./html.ts";
import { callbackHelp, namedIn } from "./trouble.ts";

/** Requests by environment and site. */
export function traffic({ environments, at }: StatusSnapshot): Html {
  return section("requests", "Requests", html`${environments.map((environment) => showEnvironment(environment, at))}`);
}

/** A site, or all requests that ended before their site was known. */
type SiteRow = Pick<SiteStatus, "tally" | "failedLately"> & {
  readonly [Name in keyof SiteStatus]?: SiteStatus[Name] | undefined;
};

const siteColumns = (now: string, defaultSite: string | undefined): readonly Column<SiteRow>[] => [
  ["Site", ({ identifier, parent }) => showSite(identifier, parent, identifier === defaultSite)],
  ["Method", ({ auth }) => auth?.join(", ") ?? quiet("–")],
  ["Answered by the service", ({ tally }) => tally.answeredBy.service, "number"],
  ["By Countersign", ({ tally }) => tally.answeredBy.countersign, "number"],
  ["Failed lately", ({ failedLately }) => failedLately, "number"],
  ["Last", ({ tally }) => showTime(tally.lastAt, now)],
];

function showEnvironment(environment: EnvironmentStatus, now: string): Html {
  const { name, baseUrl, operations, sites, withoutSite, defaultSite } = environment;
  const { failedLately } = withoutSite;
  const others = withoutSite.lastAt === undefined ? [] : [{ tally: withoutSite, failedLately }];
  const areAllShown = sites.length < shownRows;
  // The sites that were used last come first if not all are shown; those that fail come before all others.
  const ordered = (areAllShown ? sites : sites.toSorted(byLastUse)).toSorted(byFailures);
  const rows: readonly SiteRow[] = areAllShown ? [...ordered, ...others] : [...others, ...ordered];
  return html`<h3>${name}</h3>
<p class="soft">leads to <code>${baseUrl}</code>: ${operations.map((operation) => html`<code>${operation}</code> `)}</p>
${showRates(environment)}${table(`Requests of ${name} by site`, siteColumns(now, defaultSite), rows)}`;
}

function byFailures(one: SiteStatus, other: SiteStatus): number {
  return other.failedLately - one.failedLately;
}

function byLastUse(one: SiteStatus, other: SiteStatus): number {
  return (other.tally.lastAt ?? "").localeCompare(one.tally.lastAt ?? "");
}

function showSite(identifier: string | undefined, parent: string | undefined, isDefault: boolean): Html {
  if (identifier === undefined) return quiet("no site known");
  const remarks = [...(isDefault ? ["default"] : []), ...(parent === undefined ? [] : [`child of ${parent}`])];
  return html`${showName(identifier)}${remarks.length === 0 ? nothing : html` ${quiet(remarks.join(", "))}`}`;
}

/** How much traffic an environment has, how long it takes, and how it is answered. */
function showRates({ recent, answers }: EnvironmentStatus): Html {
  const lately =
    recent.requests === 0
      ? quiet("no request")
      : html`${showCount(recent.requests)}, ${showRate(recent.perSecond)} a second since the first one ended; median ${showBound(recent.medianMs)}, p95 ${showBound(recent.p95Ms)}.`;
  return definitions([
    [`Last ${describeDuration(recent.seconds * 1_000)}`, lately],
    ["In all", showAnswers(answers)],
  ]);
}

function showRate(perSecond: number): string {
  return perSecond >= 10 ? showCount(Math.round(perSecond)) : String(Number(perSecond.toPrecision(2)));
}

function showBound(ms: number | undefined): string {
  if (ms === undefined) return "above 30 s";
  return ms < 1_000 ? `up to ${ms} ms` : `up to ${ms / 1_000} s`;
}

function showAnswers(answers: EnvironmentStatus["answers"]): Html | undefined {
  const parts = (["service", "countersign"] as const).flatMap((by) => {
    const given = statusClasses.filter((name) => answers[by][name] !== undefined);
    const counts = given.map((name) => `${showCount(answers[by][name] ?? 0)} × ${name}`);
    return counts.length === 0 ? [] : [`${by === "service" ? "Service" : "Countersign"}: ${counts.join(", ")}`];
  });
  return parts.length === 0 ? undefined : html`${parts.join("; ")}.`;
}

const callerColumns = (now: string): readonly Column<CallerStatus>[] => [
  ["Caller", ({ name, by }) => html`${showName(name)} ${quiet(`by ${by}`)}`],
  ["Where", ({ environment, listener }) => html`${environment} ${showName(listener)}`],
  ["May use", showRights],
  ["Requests", ({ tally: { answeredBy } }) => answeredBy.service + answeredBy.countersign, "number"],
  ["Not allowed", ({ tally: { failures } }) => failures["caller_not_allowed"]?.count ?? 0, "number"],
  ["Too many", ({ tally: { failures } }) => failures["caller_rate_limited"]?.count ?? 0, "number"],
  ["Last", ({ tally: { lastAt } }) => showTime(lastAt, now)],
];

/** The callers, their rights and their requests; empty if no caller has a name. */
export function callers({ callers: all, at }: StatusSnapshot): Html {
  return all === undefined ? nothing : section("callers", "Callers", table("Callers by name", callerColumns(at), all));
}

function showRights({ sites, operations, requestsPerSecond }: CallerStatus): string {
  const rate = requestsPerSecond === undefined ? "" : `, ${requestsPerSecond} a second`;
  return `${showRight(sites, "site")}, ${showRight(operations, "operation")}${rate}`;
}

function showRight(names: readonly string[], what: string): string {
  return names.includes("*") ? `every ${what}` : listNames(names);
}

/** An occurrence, how often and when last: a result of callbacks, a failure of Countersign, a refusal of the service. */
interface Happening extends Occurrence {
  /** A result, a failure's code, or a status. */
  readonly what: string;
  /** Undefined if the headline says more. */
  readonly meaning: string | undefined;
  readonly place?: Html;
}

const where: Column<Happening> = ["Where", ({ place = nothing }) => place];
const columnsOf = (
  title: string,
  now: string,
  more: readonly Column<Happening>[] = [],
): readonly Column<Happening>[] => [
  [title, ({ what }) => html`<code>${what}</code>`],
  ["Times", ({ count }) => count, "number"],
  ["Last", ({ lastAt }) => showTime(lastAt, now)],
  ...more,
  ["What it means", ({ meaning }) => (meaning === undefined ? quiet("above") : showSentence(meaning))],
];

function newestFirst(all: readonly Happening[]): Happening[] {
  return all.toSorted((one, other) => other.lastAt.localeCompare(one.lastAt));
}

/** The callbacks that the service sent, and their results; empty without a listener for callbacks. */
export function callbacks({ callbacks: listeners, at }: StatusSnapshot): Html {
  if (listeners.length === 0) return nothing;
  return section("callbacks", "Callbacks", html`${listeners.map((listener) => showListener(listener, at))}`);
}

function showListener(status: CallbackStatus, now: string): Html {
  const { environment, listener, application, lastFailure, unguarded } = status;
  const results = resultsOf(status);
  const facts = definitions([
    ["Last not taken", lastFailure && showFailure(lastFailure, now)],
    ["May come twice", unguarded === 0 ? undefined : html`${showCount(unguarded)}: ${whyUnguarded}`],
  ]);
  const counted = table(`Callbacks of ${environment} at ${listener}`, columnsOf("What came of it", now), results);
  return html`<h3>${environment}</h3>
<p class="soft"><code>${listener}</code> leads to <code>${application}</code></p>
${facts}${results.length === 0 ? html`<p class="soft">None yet.</p>` : counted}`;
}

const whyUnguarded = "what was delivered before was not known, or could not be written";

function resultsOf({ results }: CallbackStatus): Happening[] {
  const all = Object.entries(results).map(([what, occurrence]) => {
    return { what, ...occurrence, meaning: inSentences(explainCallback(what)) };
  });
  return newestFirst(all);
}

function showFailure({ at, result, status, cause, site, requestId }: CallbackFailureStatus, now: string): Html {
  const why = cause === undefined ? nothing : html` (${cause})`;
  const of = site === undefined ? nothing : html` of ${showName(site)}`;
  return html`<code>${result}</code>${why}${of}, answered ${status}, request ${showName(requestId)} ${showTime(at, now)}`;
}

/** A notice, if the application has not accepted the listener's last genuine callback, and the headline does not say so; else empty. */
export function describeUntaken(status: CallbackStatus, peer: Peer, docsUrl: string | undefined, now: string): Html {
  const { environment, recent, results, lastFailure } = status;
  const last = resultsOf(status).find(({ what }) => untaken.has(what));
  if (last === undefined || (results["delivered"]?.lastAt ?? "") >= last.lastAt) return nothing;
  if (recent.failures.some(({ what }) => what === last.what)) return nothing;
  const { cause, server } = lastFailure?.result === last.what ? lastFailure : {};
  const why = server === undefined ? cause : describeUnreachable(cause ?? "UNKNOWN", { ...peer, place: server });
  const shown = why === undefined ? nothing : html`: ${why}`;
  return html`<a href="#callbacks">The last callback of ${environment}</a> was not taken (<code>${last.what}</code>, ${describeAge(last.lastAt, now)})${shown}; ${help(callbackHelp, docsUrl)}.`;
}

/** Failures with their place, time and meaning, which says whose each is; callers' own mistakes are apart. */
export function failuresAndRefusals(snapshot: StatusSnapshot): Html {
  const { environments, callbacks: listeners, credentials, at } = snapshot;
  const told = namedIn(snapshot);
  const tallies = environments.flatMap(({ name, sites, withoutSite }) => [
    ...sites.map(({ identifier, tally }) => ({ name, place: showPlace(name, identifier), tally })),
    { name, place: showPlace(name, undefined), tally: withoutSite },
  ]);
  const allOf = (kind: "failures" | "refusals", meaningOf: (what: string) => string): Happening[] =>
    tallies.flatMap(({ name, place, tally }) =>
      Object.entries(tally[kind]).map(([what, occurrence]) => {
        const meaning = told.has(`${name} ${what}`) ? undefined : meaningOf(what);
        return { what, ...occurrence, place, meaning };
      }),
    );
  const failed = allOf("failures", (code) => failures[code as FailureCode].meaning);
  const mistakes = failed.filter(({ what }) => isMistake(what));
  const refusals = allOf("refusals", (status) => {
    return `Answered by the service. ${inSentences(explainAnswer(Number(status), { isEvery: false }) ?? {})}`;
  });
  const ofSets = credentials.flatMap(({ environment, credential, requests: { refused } }) => {
    const meaning = "The authorization server refused the set.";
    return refused ? [{ what: "refused", ...refused, place: showPlace(environment, credential), meaning }] : [];
  });
  const others = [...failed.filter(({ what }) => !isMistake(what)), ...refusals, ...ofSets];
  // Callers see their own mistakes: here they are folded, below the failures that only an operator can see.
  const summary = html`Callers&rsquo; mistakes: ${showCount(sumOf(mistakes, ({ count }) => count))}`;
  const shownMistakes = mistakes.length === 0 ? nothing : folded(summary, showAll("Callers’ mistakes", mistakes, at));
  const weight = others.length === 0 ? "light" : "full";
  const isOfCallback = ({ results }: CallbackStatus) =>
    Object.keys(results).some((what) => !/^(delivered|repeated)$/.test(what));
  const elsewhere = html`<p class="soft">Those of callbacks are among the <a href="#callbacks">callbacks</a>.</p>`;
  const ofCallbacks = listeners.some(isOfCallback) ? elsewhere : nothing;
  const shown = others.length === 0 && ofCallbacks !== nothing ? nothing : showAll("Failures", others, at);
  return section("failures", "Failures", html`${shown}${ofCallbacks}${shownMistakes}`, weight);
}

function showAll(caption: string, all: readonly Happening[], now: string): Html {
  if (all.length === 0) return html`<p class="soft">None.</p>`;
  return table(`${caption}, newest first`, columnsOf("Failure", now, [where]), newestFirst(all));
}
