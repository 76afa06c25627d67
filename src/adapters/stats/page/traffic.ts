import { statusClasses } from "../../../model/events.ts";
import { listNames } from "../../../model/names.ts";
import type { CallerStatus, EnvironmentStatus, SiteStatus, StatusSnapshot } from "../stats.ts";
import {
  type Column,
  definitions,
  describeDuration,
  type Html,
  html,
  nothing,
  quiet,
  section,
  showCount,
  showName,
  shownRows,
  showTime,
  table,
} from "./html.ts";

/** Requests by environment and site. */
export function traffic({ environments, at }: StatusSnapshot): Html {
  return section("requests", "Requests", html`${environments.map((environment) => showEnvironment(environment, at))}`);
}

const siteColumns = (now: string, defaultSite: string | undefined): readonly Column<Partial<SiteStatus>>[] => [
  ["Site", ({ identifier, parent }) => showSite(identifier, parent, identifier === defaultSite)],
  ["Method", ({ auth }) => auth?.join(", ") ?? quiet("–")],
  ["Answered by the service", ({ tally }) => tally?.answeredBy.service ?? 0, "number"],
  ["By Countersign", ({ tally }) => tally?.answeredBy.countersign ?? 0, "number"],
  ["Last", ({ tally }) => showTime(tally?.lastAt, now)],
];

function showEnvironment(environment: EnvironmentStatus, now: string): Html {
  const { name, baseUrl, operations, sites, withoutSite, defaultSite } = environment;
  const others = withoutSite.lastAt === undefined ? [] : [{ tally: withoutSite }];
  const areAllShown = sites.length < shownRows;
  // Those that were used last come first where not all are shown.
  const rows = areAllShown ? [...sites, ...others] : [...others, ...sites.toSorted(byLastUse)];
  return html`<h3>${name}</h3>
<p class="soft">leads to <code>${baseUrl}</code>: ${operations.map((operation) => html`<code>${operation}</code> `)}</p>
${showRates(environment)}${table(`Requests of ${name} by site`, siteColumns(now, defaultSite), rows)}`;
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

const callerColumns = (now: string): readonly Column<CallerStatus>[] => [
  ["Caller", ({ name, by }) => html`${showName(name)} ${quiet(`by ${by}`)}`],
  ["Where", ({ environment, listener }) => html`${environment} ${showName(listener)}`],
  ["May use", showRights],
  ["Requests", ({ tally: { answeredBy } }) => answeredBy.service + answeredBy.countersign, "number"],
  ["Not allowed", ({ tally: { failures } }) => failures["caller_not_allowed"]?.count ?? 0, "number"],
  ["Too many", ({ tally: { failures } }) => failures["caller_rate_limited"]?.count ?? 0, "number"],
  ["Last", ({ tally: { lastAt } }) => showTime(lastAt, now)],
];

/** Who calls, what each may do, and how much it did; nothing where no caller has a name. */
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
