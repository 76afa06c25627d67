import type { EnvironmentStatus, SiteStatus, StatusSnapshot, Tally } from "../snapshot.ts";
import { type Html, html, nothing } from "./html.ts";
import { quiet, showCount, showName } from "./prose.ts";
import { rates } from "./rates.ts";
import { foldedTable, shownRows } from "./table.ts";
import { showTime } from "./times.ts";

/** What passed through, by environment and site. */
export function traffic(snapshot: StatusSnapshot): Html {
  const { environments, requests, at } = snapshot;
  const { service, countersign } = requests.answeredBy;
  return html`<section aria-labelledby="requests"><h2 id="requests">Requests</h2>
<p>${showCount(service)} answered by the service, ${showCount(countersign)} by Countersign itself.</p>
${environments.map((environment) => showEnvironment(environment, at))}</section>
`;
}

const columns = [
  { title: "Site" },
  { title: "Method" },
  { title: "Answered by the service", isNumber: true },
  { title: "By Countersign", isNumber: true },
  { title: "Last" },
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
${rates(environment)}${foldedTable(`Requests of ${name} by site`, columns, rows)}`;
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

function showFigure(figure: number): Html {
  return figure === 0 ? quiet(0) : html`${showCount(figure)}`;
}
