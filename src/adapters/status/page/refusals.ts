import type { CredentialStatus, EnvironmentStatus, SiteStatus, StatusSnapshot } from "../snapshot.ts";
import { type Html, html } from "./html.ts";
import { showCount, showPlace } from "./prose.ts";
import { because } from "./reasons.ts";
import { foldedTable } from "./table.ts";
import { showTime } from "./times.ts";

const columns = [
  { title: "Refused by" },
  { title: "Times", isNumber: true },
  { title: "Last" },
  { title: "Who" },
  { title: "With" },
];

interface RefusalRow {
  readonly lastAt: string;
  readonly cells: readonly Html[];
}

/** Whom the authorization server refused a token, and whose requests the service refused. */
export function refusalTable({ environments, credentials, at }: StatusSnapshot): Html {
  const rows = [
    ...credentials.flatMap((credential) => byLoginHost(credential, at)),
    ...environments.flatMap(({ name, sites }) => sites.flatMap((site) => byService(name, site, at))),
  ];
  rows.sort((one, other) => other.lastAt.localeCompare(one.lastAt));
  const cells = rows.map((row) => row.cells);
  return html`<h3>Refusals</h3>
${cells.length === 0 ? html`<p class="soft">None.</p>` : foldedTable("Refusals, newest first", columns, cells)}`;
}

function byLoginHost({ environment, credential, lastRefusal, requests }: CredentialStatus, now: string): RefusalRow[] {
  if (lastRefusal === undefined) return [];
  const { at: lastAt, status, reason } = lastRefusal;
  const cells = [
    html`the authorization server`,
    html`${showCount(requests.refused ?? 0)}`,
    showTime(lastAt, now),
    showPlace(environment, credential),
    html`${status ?? "no status"}, asked ${because[reason]}`,
  ];
  return [{ lastAt, cells }];
}

function byService(
  environment: EnvironmentStatus["name"],
  { identifier, tally }: SiteStatus,
  now: string,
): RefusalRow[] {
  return Object.entries(tally.refusals).map(([status, { count, lastAt }]) => {
    const place = showPlace(environment, identifier);
    const outcome = html`${status}, passed on to the caller`;
    return { lastAt, cells: [html`the service`, html`${showCount(count)}`, showTime(lastAt, now), place, outcome] };
  });
}
