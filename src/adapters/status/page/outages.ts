import type { EnvironmentStatus, StatusSnapshot, TokenOutage, TokenRequestStatus } from "../snapshot.ts";
import { type Html, html, nothing } from "./html.ts";
import { showCount, showName } from "./prose.ts";
import { describeAge, describeDuration } from "./times.ts";

/** A share of 5xx that is more than chance, and how many it takes. */
const failingShare = 0.05;
const failingAnswers = 2;
const namedSites = 3;

/** Before all else: environments whose orders fail now. Nothing on a good day. */
export function outages({ environments, at }: StatusSnapshot): Html {
  const lines = environments.flatMap((environment) => [
    ...(environment.tokenOutage === undefined ? [] : [describeOutage(environment.name, environment.tokenOutage, at)]),
    ...(isFailing(environment) ? [describeFailing(environment)] : []),
  ]);
  if (lines.length === 0) return nothing;
  return html`<section class="notice bad" aria-label="Orders fail"><h2>Orders fail</h2>
<ul>${lines.map((line) => html`<li>${line}</li>`)}</ul></section>
`;
}

/** Environments that cannot serve an order for want of a token. */
export function withoutToken({ environments }: StatusSnapshot): readonly string[] {
  return environments.flatMap(({ name, tokenOutage }) => (tokenOutage === undefined ? [] : [name]));
}

function describeOutage(environment: string, outage: TokenOutage, now: string): Html {
  const { sites, since, lastRequest, nextTryAt } = outage;
  const shown = sites.slice(0, namedSites).map((site, index) => html`${index === 0 ? "" : ", "}${showName(site)}`);
  const more = sites.length > namedSites ? html` and ${showCount(sites.length - namedSites)} more` : nothing;
  const lasting = since === undefined ? "" : ` for ${describeAge(since, now).replace(" ago", "")}`;
  const next = nextTryAt === undefined ? "" : ` Next try ${describeNext(nextTryAt, now)}.`;
  return html`<a href="#tokens"><strong>No token</strong></a> for ${shown}${more} of <strong>${environment}</strong>${lasting}:
the authorization server ${describeCause(lastRequest)}. Their orders are not sent.${next}`;
}

function describeNext(nextTryAt: string, now: string): string {
  return Date.parse(nextTryAt) <= Date.parse(now) ? "with the next order" : describeAge(nextTryAt, now);
}

function describeCause(last: TokenRequestStatus | undefined): string {
  const known = [last?.status, last?.cause].filter((each) => each !== undefined);
  const status = known.length === 0 ? "" : ` (${known.join(", ")})`;
  switch (last?.result) {
    case "refused":
      return `refuses the set${status}`;
    case "throttled":
      return `has asked to wait${status}`;
    case "timed_out":
      return `does not answer in time${status}`;
    case "malformed":
      return `answers what is no token${status}`;
    default:
      return last?.status === undefined ? `cannot be reached${status}` : `fails${status}`;
  }
}

function isFailing({ recent }: EnvironmentStatus): boolean {
  const { failed, all } = serviceAnswers(recent);
  return failed >= failingAnswers && failed / all >= failingShare;
}

function describeFailing({ name, recent }: EnvironmentStatus): Html {
  const { failed, all } = serviceAnswers(recent);
  const share = Math.round((failed / all) * 100);
  return html`<a href="#requests"><strong>The service fails</strong></a> in <strong>${name}</strong>: ${share} % of its answers of the last
${describeDuration(recent.seconds * 1_000)} are 5xx (${showCount(failed)} of ${showCount(all)}).`;
}

function serviceAnswers({ answers: { service } }: EnvironmentStatus["recent"]): { failed: number; all: number } {
  const all = Object.values(service).reduce((sum, count) => sum + count, 0);
  return { failed: service["5xx"] ?? 0, all };
}
