import { notSigned } from "../../../oauth/token-endpoint.ts";
import type {
  CredentialStatus,
  EnvironmentStatus,
  RedisStatus,
  StatusSnapshot,
  TokenOutage,
  TokenRequestStatus,
  UnknownOutcome,
} from "../snapshot.ts";
import { untakenCallbacks } from "./callbacks.ts";
import {
  describeAge,
  describeDuration,
  describeSpan,
  type Html,
  html,
  list,
  nothing,
  quiet,
  showCount,
  showName,
  showPlace,
  showTime,
  table,
} from "./html.ts";

/** A share of 5xx that is more than chance, and how many it takes. */
const failingShare = 0.05;
const failingAnswers = 2;
/** A list of all would push everything else out of sight. */
const named = 3;

/** Before all else: environments whose orders fail now. Nothing on a good day. */
export function outages({ environments, at }: StatusSnapshot): Html {
  const lines = environments.flatMap((environment) => [
    ...(environment.tokenOutage === undefined ? [] : [describeOutage(environment.name, environment.tokenOutage, at)]),
    ...describeFailing(environment),
  ]);
  if (lines.length === 0) return nothing;
  return html`<section class="notice bad" aria-label="Orders fail"><h2>Orders fail</h2>
${list(lines)}</section>
`;
}

/** Environments that cannot serve an order for want of a token. */
export function withoutToken({ environments }: StatusSnapshot): readonly string[] {
  return environments.flatMap(({ name, tokenOutage }) => (tokenOutage === undefined ? [] : [name]));
}

function describeOutage(environment: string, outage: TokenOutage, now: string): Html {
  const { sites, since, lastRequest, nextTryAt } = outage;
  const shown = sites.slice(0, named).map((site, index) => html`${index === 0 ? "" : ", "}${showName(site)}`);
  const more = sites.length > named ? html` and ${showCount(sites.length - named)} more` : nothing;
  const lasting = since === undefined ? "" : ` for ${describeSpan(since, now)}`;
  const isDue = nextTryAt === undefined || Date.parse(nextTryAt) <= Date.parse(now);
  return html`<a href="#tokens"><strong>No token</strong></a> for ${shown}${more} of <strong>${environment}</strong>${lasting}:
the authorization server ${describeCause(lastRequest)}. Their orders are not sent. Next try ${isDue ? "with the next order" : describeAge(nextTryAt, now)}.`;
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
      if (last?.cause === notSigned) return `is not asked${status}`;
      return last?.status === undefined ? `cannot be reached, or gives no complete answer${status}` : `fails${status}`;
  }
}

function describeFailing({ name, recent }: EnvironmentStatus): Html[] {
  const { service } = recent.answers;
  const all = Object.values(service).reduce((sum, count) => sum + count, 0);
  const failed = service["5xx"] ?? 0;
  if (failed < failingAnswers || failed / all < failingShare) return [];
  const share = Math.round((failed / all) * 100);
  return [
    html`<a href="#requests"><strong>The service fails</strong></a> in <strong>${name}</strong>: ${share} % of its answers of the last
${describeDuration(recent.seconds * 1_000)} are 5xx (${showCount(failed)} of ${showCount(all)}).`,
  ];
}

/** Whether an order may exist whose caller got no answer. */
export function unknownOutcomes(snapshot: StatusSnapshot): Html {
  const { at, startedAt, requests } = snapshot;
  const { unknownOutcomes: count, inFlight } = requests;
  const open =
    inFlight === 0
      ? "None is under way now."
      : `${showCount(inFlight)} ${plural(inFlight, "is", "are")} under way now.`;
  return html`<section class="verdict ${count === 0 ? "good" : "bad"}" aria-labelledby="unknown">
<p class="figure" aria-hidden="true">${showCount(count)}</p>
<div class="words">
<h2 id="unknown">${count === 0 ? "No" : showCount(count)} ${plural(count, "outcome is", "outcomes are")} unknown</h2>
<p>${count === 0 ? reassure(snapshot) : advise(count)}</p>
<p class="soft">${open} This page knows this process alone, since its start ${describeAge(startedAt, at)}. The log of every replica has
the rest: <code>"outcome":"unknown"</code>.</p>
</div>
${count === 0 ? nothing : tableOf(snapshot)}</section>
`;
}

function plural(count: number, one: string, many: string): string {
  return count <= 1 ? one : many;
}

function reassure({ requests: { answeredBy } }: StatusSnapshot): Html {
  const ended = answeredBy.service + answeredBy.countersign;
  if (ended === 0) return html`0 unknown outcomes: no request has ended yet.`;
  const each =
    ended === 1 ? "the one request that has ended" : `each of the ${showCount(ended)} requests that have ended`;
  return html`0 unknown outcomes: ${each} has the service&rsquo;s own answer, or had no effect.`;
}

function advise(count: number): Html {
  return html`${plural(count, "It was", "They were")} sent, and no complete answer of the service came: <strong>an order may exist.</strong> Look for the reference at the service before
anything is sent again.`;
}

const outcomeColumns = ["Reference", "Operation", "When", "Site", "What happened", "Request id"];

function tableOf({ at, requests, unknownOutcomes: shown }: StatusSnapshot): Html {
  const earlier = requests.unknownOutcomes - shown.length;
  const rows = shown.map((outcome) => describeOutcome(outcome, at));
  return html`${table("Requests whose outcome is unknown, newest first", outcomeColumns, rows)}${
    earlier === 0 ? nothing : html`<p class="rest">And ${showCount(earlier)} before these, in the log.</p>`
  }`;
}

function describeOutcome(outcome: UnknownOutcome, now: string): Html[] {
  const { at, environment, site, operation, reference, requestId, code, status, stage } = outcome;
  return [
    reference === undefined ? quiet("none given") : html`<span class="reference">${showName(reference)}</span>`,
    showName(operation ?? "none"),
    showTime(at, now),
    showPlace(environment, site),
    html`<code>${code ?? (status === undefined ? "caller left" : `answered ${status}`)}</code> ${quiet(`at ${stage}`)}`,
    showName(requestId),
  ];
}

/** What else needs attention, one line each; nothing on a good day. */
export function notices(snapshot: StatusSnapshot): Html {
  const { readiness, redis, credentials, reload, at } = snapshot;
  const lines = [
    ...(readiness.isReady ? [] : [html`Not ready: ${readiness.reason}.`]),
    ...describeRefused(credentials.filter(isRefused)),
    ...describeUnrenewed(credentials.filter(isUnrenewed)),
    ...untakenCallbacks(snapshot),
    ...redis.filter(({ isUp }) => isUp === false).map((server) => describeAway(server, at)),
    ...(reload.lastRefused?.isPending
      ? [html`<a href="#configuration">A new configuration was refused</a>; the old one stays active.`]
      : []),
  ];
  if (lines.length === 0) return nothing;
  return html`<section class="notice warn" aria-label="Needs attention">${list(lines)}</section>
`;
}

function isRefused({ lastRequest }: CredentialStatus): boolean {
  return lastRequest?.result === "refused";
}

/** Its token is still good, and is not being renewed. A set without a token is an outage. */
function isUnrenewed(credential: CredentialStatus): boolean {
  return credential.failingSince !== undefined && credential.token !== "none" && !isRefused(credential);
}

function describeUnrenewed([first, ...others]: readonly CredentialStatus[]): Html[] {
  if (first === undefined) return [];
  const more = others.length === 0 ? nothing : html` and ${showCount(others.length)} more`;
  return [
    html`<a href="#tokens">No new token for <code>${first.credential}</code></a>${more} of ${first.environment}: the authorization server fails. The old one is still good.`,
  ];
}

function describeRefused(refused: readonly CredentialStatus[]): Html[] {
  const more = refused.length - named;
  const rest = more > 0 ? [html`<a href="#tokens">And ${showCount(more)} more sets are refused.</a>`] : [];
  const lines = refused.slice(0, named).map(({ environment, credential, token }) => {
    const left = token === "none" ? "It has no token." : "It still has a token.";
    return html`<a href="#tokens">The authorization server refuses <code>${credential}</code></a> of ${environment}. ${left}`;
  });
  return [...lines, ...rest];
}

function describeAway({ node, since, failure }: RedisStatus, now: string): Html {
  const away = since === undefined ? "" : ` since ${describeSpan(since, now)}`;
  return html`<a href="#redis">Redis <code>${node}</code> is away</a>${away} (${failure ?? "other"}). Every replica keeps its own tokens; no request fails.`;
}
