import { listNames } from "../../../model/names.ts";
import type { RedisStatus, StatusSnapshot, UnknownOutcome } from "../stats.ts";
import type { CredentialStatus } from "../token-stats.ts";
import { describeUntaken } from "./callbacks.ts";
import { describeCause, describeOutage, named } from "./headline.ts";
import {
  type Column,
  describeAge,
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

/** Orders that may exist though their caller got no answer that says so. Nothing where there is none. */
export function unknownOutcomes(snapshot: StatusSnapshot): Html {
  const { unknownOutcomes: count } = snapshot.requests;
  if (count === 0) return nothing;
  return html`<section class="verdict bad" aria-labelledby="unknown">
<p class="figure" aria-hidden="true">${showCount(count)}</p>
<div class="words">
<h2 id="unknown">${showCount(count)} ${plural(count, "outcome is", "outcomes are")} unknown</h2>
<p>${plural(count, "It was", "They were")} sent, and the service gave no complete answer, or a 5xx: <strong>an order may exist.</strong>
Look for the reference at the service before anything is sent again.</p>
<p>The log of every replica has the rest: <code>"level":"error"</code> with <code>"outcome":"unknown"</code>.</p>
</div>
${tableOf(snapshot)}</section>
`;
}

function plural(count: number, one: string, many: string): string {
  return count === 1 ? one : many;
}

/** The newest; the others are folded. */
const shownOutcomes = 5;
const outcomeColumns = (now: string): readonly Column<UnknownOutcome>[] => [
  [
    "Reference",
    ({ reference: name }) =>
      name === undefined ? quiet("none given") : html`<span class="reference">${showName(name)}</span>`,
  ],
  ["Operation", ({ operation = "none" }) => showName(operation)],
  ["When", ({ at }) => showTime(at, now)],
  ["Site", ({ environment, site }) => showPlace(environment, site)],
  ["Caller", ({ caller }) => (caller === undefined ? quiet("–") : showName(caller))],
  ["What happened", showEnd],
  ["Request id", ({ requestId }) => showName(requestId)],
];

function tableOf({ at, requests, unknownOutcomes: shown }: StatusSnapshot): Html {
  const earlier = requests.unknownOutcomes - shown.length;
  const more = earlier === 0 ? nothing : html`<p class="rest">And ${showCount(earlier)} before these, in the log.</p>`;
  const caption = "Requests whose outcome is unknown, newest first";
  return html`${table(caption, outcomeColumns(at), shown, shownOutcomes)}${more}`;
}

function showEnd({ code, status, stage }: UnknownOutcome): Html {
  const end = code ?? (status === undefined ? "caller left" : `answered ${status}`);
  return html`<code>${end}</code> ${quiet(`at ${stage}`)}`;
}

/** What else needs attention, one line each; nothing on a good day. */
export function notices({ readiness, redis, credentials, reload, environments, callbacks, at }: StatusSnapshot): Html {
  const lines = list([
    readiness.isReady ? nothing : html`Not ready: ${readiness.reason}.`,
    ...environments.map(({ name, bridgedOutage }) => describeOutage(name, bridgedOutage, "signed", at)),
    ...showSets(credentials.filter(isUnrenewed), at),
    ...callbacks.map((listener) => describeUntaken(listener, at)),
    ...redis.filter(({ isUp }) => isUp === false).map((server) => describeAway(server, callbacks.length > 0, at)),
    reload.lastRefused?.isPending
      ? html`<a href="#process">A new configuration was refused</a>; the old one stays active.`
      : nothing,
    ...environments.map(({ name, refusedSiteFiles = [] }) => {
      const files = refusedSiteFiles.map(({ file }) => file);
      return files.length === 0 ? nothing : html`Site files of ${name} are refused: ${listNames(files, named)}.`;
    }),
  ]);
  if (lines === nothing) return nothing;
  return html`<section class="notice warn" aria-label="Needs attention">${lines}</section>
`;
}

/** What it was last asked for failed. That a set without a token is not served stands in the headline; that it is refused, here too. */
function isUnrenewed({ failingSince, token, lastRequest }: CredentialStatus): boolean {
  return failingSince !== undefined && (token !== "none" || lastRequest?.result === "refused");
}

function showSets(sets: readonly CredentialStatus[], now: string): Html[] {
  const more = sets.length - named;
  const rest = more > 0 ? html`<a href="#tokens">And ${showCount(more)} more sets get no new token.</a>` : nothing;
  return [...sets.slice(0, named).map((set) => describeUnrenewed(set, now)), rest];
}

function describeUnrenewed({ environment, credential, token, lastRequest }: CredentialStatus, now: string): Html {
  const left = token === "none" ? "It has none." : `The one it has expires ${describeAge(token.expiresAt, now)}.`;
  return html`<a href="#tokens">No new token for <code>${credential}</code></a> of ${environment}: the authorization server ${describeCause(lastRequest)}. ${left}`;
}

/** What Redis keeps for all replicas: tokens, keys of Countersign-Once, and callbacks that were handed over. */
function describeAway({ node, since, failure }: RedisStatus, hasCallbacks: boolean, now: string): Html {
  const away = since === undefined ? "is away" : `has been away for ${describeSpan(since, now)}`;
  const what = html`<a href="#redis">Redis <code>${node}</code> ${away}</a> (${failure ?? "other"}).`;
  if (node !== "cache") return html`${what} It is one of several for the refresh lock.`;
  const callbacks = hasCallbacks ? html`; so are callbacks, where <code>replay</code> is <code>strict</code>` : nothing;
  return html`${what} This process keeps its own tokens. Requests with <code>Countersign-Once</code> are refused${callbacks}.`;
}
