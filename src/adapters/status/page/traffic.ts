import { statusClasses } from "../../../model/events.ts";
import type { AnswerCounts, EnvironmentStatus, SiteStatus, StatusSnapshot, Tally } from "../snapshot.ts";
import {
  type Column,
  definitions,
  foldedTable,
  type Html,
  html,
  nothing,
  quiet,
  section,
  showCount,
  showName,
  shownRows,
} from "./html.ts";
import { describeDuration, showTime } from "./times.ts";

/** What passed through, by environment and site. */
export function traffic({ environments, requests, at }: StatusSnapshot): Html {
  const { service, countersign } = requests.answeredBy;
  const content = html`<p>${showCount(service)} answered by the service, ${showCount(countersign)} by Countersign itself.</p>
${environments.map((environment) => showEnvironment(environment, at))}`;
  return section("requests", "Requests", content);
}

const columns: readonly Column[] = [
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
${showRates(environment)}${foldedTable(`Requests of ${name} by site`, columns, rows)}`;
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
  const show = (figure: number) => (figure === 0 ? quiet(0) : html`${showCount(figure)}`);
  const last = lastAt === undefined ? quiet("never") : showTime(lastAt, now);
  return [show(answeredBy.service), show(answeredBy.countersign), last];
}

/** How much traffic an environment has, how long it takes, and how it is answered. */
function showRates({ recent, answers }: EnvironmentStatus): Html {
  const lately =
    recent.requests === 0
      ? quiet("no request")
      : html`${showRate(recent.perSecond)} a second; median ${showBound(recent.medianMs)}, p95 ${showBound(recent.p95Ms)}. ${showAnswers(recent.answers)}`;
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

function showAnswers(answers: AnswerCounts): Html {
  const parts = (["service", "countersign"] as const).flatMap((by) => {
    const counts = statusClasses.flatMap((name) => {
      const count = answers[by][name] ?? 0;
      return count === 0 ? [] : [`${showCount(count)} × ${name}`];
    });
    return counts.length === 0 ? [] : [`${by === "service" ? "Service" : "Countersign"}: ${counts.join(", ")}`];
  });
  return parts.length === 0 ? quiet("no answer yet") : html`${parts.join("; ")}.`;
}
