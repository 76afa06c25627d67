import { statusClasses } from "../../../model/events.ts";
import { listNames } from "../../../model/names.ts";
import type { CallerStatus, EnvironmentStatus, SiteStatus, StatusSnapshot } from "../stats.ts";
import type { Tally } from "../sums.ts";
import {
  type Column,
  definitions,
  describeDuration,
  foldedTable,
  type Html,
  html,
  nothing,
  quiet,
  section,
  showCount,
  showFigure,
  showName,
  shownRows,
  showTime,
} from "./html.ts";

/** Requests by environment and site. */
export function traffic({ environments, at }: StatusSnapshot): Html {
  return section("requests", "Requests", html`${environments.map((environment) => showEnvironment(environment, at))}`);
}

const siteColumns: readonly Column[] = [
  "Site",
  "Method",
  { number: "Answered by the service" },
  { number: "By Countersign" },
  "Last",
];

function showEnvironment(environment: EnvironmentStatus, now: string): Html {
  const { name, baseUrl, operations, sites, withoutSite, defaultSite } = environment;
  const show = (site: SiteStatus) => showSite(site, site.identifier === defaultSite, now);
  const unknown = [quiet("no site known"), quiet("–"), ...showTally(withoutSite, now)];
  const others = withoutSite.lastAt === undefined ? [] : [unknown];
  const areAllShown = sites.length < shownRows;
  // Those that were used last come first where not all are shown.
  const rows = areAllShown ? [...sites.map(show), ...others] : [...others, ...sites.toSorted(byLastUse).map(show)];
  return html`<h3>${name}</h3>
<p class="soft">leads to <code>${baseUrl}</code>: ${operations.map((operation) => html`<code>${operation}</code> `)}</p>
${showRates(environment)}${foldedTable(`Requests of ${name} by site`, siteColumns, rows)}`;
}

function byLastUse(one: SiteStatus, other: SiteStatus): number {
  return (other.tally.lastAt ?? "").localeCompare(one.tally.lastAt ?? "");
}

function showSite({ identifier, parent, auth, tally }: SiteStatus, isDefault: boolean, now: string): Html[] {
  const remarks = [...(isDefault ? ["default"] : []), ...(parent === undefined ? [] : [`child of ${parent}`])];
  const name = html`${showName(identifier)}${remarks.length === 0 ? nothing : html` ${quiet(remarks.join(", "))}`}`;
  return [name, html`${auth.join(", ")}`, ...showTally(tally, now)];
}

function showTally({ answeredBy, lastAt }: Tally, now: string): Html[] {
  const last = lastAt === undefined ? quiet("never") : showTime(lastAt, now);
  return [showFigure(answeredBy.service), showFigure(answeredBy.countersign), last];
}

/** How much traffic an environment has, how long it takes, and how it is answered. */
function showRates({ recent, answers }: EnvironmentStatus): Html {
  const lately =
    recent.requests === 0
      ? quiet("no request")
      : html`${showCount(recent.requests)}, ${showRate(recent.perSecond)} a second since the first of them; median ${showBound(recent.medianMs)}, p95 ${showBound(recent.p95Ms)}.`;
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

function showAnswers(answers: EnvironmentStatus["answers"]): Html {
  const parts = (["service", "countersign"] as const).flatMap((by) => {
    const counts = statusClasses.flatMap((name) => {
      const count = answers[by][name] ?? 0;
      return count === 0 ? [] : [`${showCount(count)} × ${name}`];
    });
    return counts.length === 0 ? [] : [`${by === "service" ? "Service" : "Countersign"}: ${counts.join(", ")}`];
  });
  return parts.length === 0 ? quiet("no answer yet") : html`${parts.join("; ")}.`;
}

const callerColumns: readonly Column[] = [
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
  const rows = all.map((caller) => showCaller(caller, at));
  return section("callers", "Callers", foldedTable("Callers by name", callerColumns, rows));
}

function showCaller(
  { name, environment, listener, by, sites, operations, requestsPerSecond, tally }: CallerStatus,
  now: string,
): Html[] {
  const { answeredBy, failures, lastAt } = tally;
  const rate = requestsPerSecond === undefined ? "" : `, ${requestsPerSecond} a second`;
  const rights = `${showRight(sites, "site")}, ${showRight(operations, "operation")}${rate}`;
  return [
    html`${showName(name)} ${quiet(`by ${by}`)}`,
    html`${environment} ${showName(listener)}`,
    html`${rights}`,
    showFigure(answeredBy.service + answeredBy.countersign),
    showFigure(failures["caller_not_allowed"]?.count ?? 0),
    showFigure(failures["caller_rate_limited"]?.count ?? 0),
    lastAt === undefined ? quiet("never") : showTime(lastAt, now),
  ];
}

function showRight(names: readonly string[], what: string): string {
  return names.includes("*") ? `every ${what}` : listNames(names);
}
