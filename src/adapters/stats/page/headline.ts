import { applicationOf, describeUnreachable, type Peer, serviceOf } from "../../../model/connect-failure.ts";
import { type FailureCode, failures } from "../../../model/errors.ts";
import { tokenOutages } from "../../../model/events.ts";
import { listNames } from "../../../model/names.ts";
import { claimsNodeName, describeRedisFailure, isAnswer } from "../../../model/redis-access.ts";
import { countFates, type FailingSite, fates, type RecentFailure, type RecentStep } from "../recent-requests.ts";
import type { EnvironmentStatus, RedisStatus, StatusSnapshot, UnknownOutcome } from "../stats.ts";
import { sumOf } from "../sums.ts";
import type { CredentialStatus, SitesWithoutToken, TokenRequestStatus } from "../token-stats.ts";
import {
  type Column,
  describeAge,
  describeDuration,
  describeSpan,
  type Html,
  help,
  html,
  list,
  nothing,
  quiet,
  section,
  showCount,
  showName,
  showPlace,
  showSentence,
  showTime,
  table,
} from "./html.ts";
import { callbackHelp, describeUntaken, meaningOfCallback, serviceRefusal } from "./traffic.ts";

/** Failures are more than chance from this share and this number on. */
const failingShare = 0.05;
const failingRequests = 2;
/** How many a list names: all would push everything else out of sight. */
const named = 3;

/** `good`: nothing failed, and nothing is amiss. `idle`: no request, or none that failed, but something else is amiss. */
type Tone = "good" | "idle" | "warn" | "bad";

/** Whether orders succeed: the page's headline, its title and its icon. */
export interface Verdict {
  readonly tone: Tone;
  readonly title: string;
  /** The share that failed; `–` without a request. */
  readonly share: string;
  /** What the title counts, and the chart shows. */
  readonly what: Recent["what"];
}

/**
 * Judges the requests and callbacks of the last minutes: those of the environment where the largest share fails, since a healthy
 * one must not hide it.
 * @param hasNotice whether the page says that something else needs attention
 */
export function judge(snapshot: StatusSnapshot, hasNotice: boolean): Verdict {
  const { environments, requests } = snapshot;
  const all = countAll(snapshot);
  const [worst] = all.toSorted((one, other) => weightOf(other) - weightOf(one));
  const hasOutage = environments.some(({ tokenOutage }) => tokenOutage !== undefined);
  const seconds = environments[0]?.recent.seconds ?? 0;
  const lately = `in the last ${describeDuration(seconds * 1_000)}`;
  if (worst === undefined) {
    return { tone: hasOutage ? "bad" : "idle", title: `No request ${lately}`, share: "–", what: "request" };
  }
  const { what } = worst;
  if (worst.failed === 0) {
    const isAmiss = hasNotice || openOutcomes(requests) > 0;
    const tone = hasOutage ? "bad" : isAmiss ? "idle" : "good";
    return { tone, title: `No request failed ${lately}`, share: "0 %", what };
  }
  const isFailing = all.some((each) => [each, ...each.failingSites].some(isMoreThanChance));
  const where = environments.length > 1 ? ` in ${worst.name}` : "";
  const title = `${showFailed(worst)} failed${where} ${lately}`;
  return { tone: isFailing || hasOutage ? "bad" : "warn", title, share: describeShare(shareOf(worst)), what };
}

/** How many requests there were, and how many of them failed. */
interface Failed {
  readonly requests: number;
  readonly failed: number;
}

/** The last minutes of an environment's requests, or of a listener's callbacks. */
interface Recent extends Failed {
  /** The environment's. */
  readonly name: string;
  readonly what: "request" | "callback";
  /** Of the service, or of the application that gets the callbacks. */
  readonly url: string;
  /** What texts say of it; `place` is its origin. */
  readonly peerAt: (place: string) => Peer;
  readonly failures: readonly RecentFailure[];
  readonly failingSites: readonly FailingSite[];
}

/** All that had any: requests first. */
function countAll({ environments, callbacks }: StatusSnapshot): readonly Recent[] {
  const all = [
    ...environments.map(({ name, baseUrl: url, recent }) => {
      const peerAt = (place: string) => serviceOf(name, place);
      return { name, what: "request" as const, url, peerAt, ...recent };
    }),
    ...callbacks.map(({ environment: name, application: url, recent }, index) => {
      const peerAt = (place: string) => applicationOf(place, `callbacks[${index}].application`);
      return { name, what: "callback" as const, url, peerAt, ...recent };
    }),
  ];
  return all
    .filter(({ requests }) => requests > 0)
    .map((recent) => ({ ...recent, failed: sumOf(recent.failures, ({ count }) => count) }));
}

function shareOf({ failed, requests }: Failed): number {
  return failed / requests;
}

/** Failing requests come first: anybody who reaches a listener for callbacks can make these fail. */
function weightOf(recent: Recent): number {
  return shareOf(recent) + (recent.what === "request" && isMoreThanChance(recent) ? 1 : 0);
}

export function isMoreThanChance(counted: Failed): boolean {
  return counted.failed >= failingRequests && shareOf(counted) >= failingShare;
}

/** `20 of 620 requests` */
function showFailed({ failed, requests, what }: Recent): string {
  return `${showCount(failed)} of ${showCount(requests)} ${plural(requests, what, `${what}s`)}`;
}

/** Never shows 0 % or 100 % for a share that is only near it. */
function describeShare(share: number): string {
  if (share < 0.01) return "< 1 %";
  return share === 1 ? "100 %" : `${Math.min(Math.round(share * 100), 99)} %`;
}

/** The top of the page: the share of requests that failed, why, and a picture of the last minutes. */
export function headline(snapshot: StatusSnapshot, { tone, title, share, what }: Verdict): Html {
  const { environments, callbacks, requests, docsUrl, startedAt, at } = snapshot;
  const all = countAll(snapshot);
  const outages = environments.map((each) => describeOutage(each, each.tokenOutage, "not sent", at));
  const { inFlight, settledOutcomes: settled } = requests;
  const unknown = openOutcomes(requests);
  const open = `${inFlight === 0 ? "None is" : showCount(inFlight)} under way now.`;
  const doubt =
    unknown === 0
      ? `No outcome is ${settled === 0 ? "" : "left "}unknown`
      : html`<a href="#unknown">Outcomes unknown: ${showCount(unknown)}</a>`;
  return html`<section class="verdict headline ${tone}" aria-labelledby="headline">
<p class="figure" aria-hidden="true">${share}</p>
<div class="words">
<h2 id="headline">${title}</h2>
${list([...outages, ...all.flatMap((recent) => describeTrouble(recent, docsUrl))])}${all.length > 1 ? html`<p>${all.map(showShare)}</p>` : nothing}
<p>${doubt} since the start ${describeAge(startedAt, at)}. ${open} <span class="soft">This page knows this process alone.</span></p>
</div>
${chart(what, what === "request" ? environments : callbacks)}</section>
`;
}

const height = 40;
const stepWidth = 10;

/** The last minutes of all environments together, a bar for each step: succeeded below, then failed, then unknown. */
function chart(what: Recent["what"], all: readonly Pick<EnvironmentStatus, "recent">[]): Html {
  const [first] = all;
  if (first === undefined) return nothing;
  const steps = first.recent.steps.map((_, index) => addSteps(all.map(({ recent }) => recent.steps[index])));
  const highest = Math.max(1, ...steps.map(({ succeeded, failed, unknown }) => succeeded + failed + unknown));
  const bars = steps.flatMap((step, index) => drawStep(step, index * stepWidth, height / highest));
  const whole = addSteps(steps);
  const words = fates.map((fate) => `${showCount(whole[fate])} ${fate}`).join(", ");
  const span = describeDuration(first.recent.seconds * 1_000);
  const whose = `${what}s${all.length > 1 ? " of all environments" : ""}`;
  const legend = fates.map((fate) => html`<b class="${fate}"></b>${fate} `);
  return html`<figure class="chart"><svg role="img" aria-label="Last ${span}, ${whose}: ${words}" viewBox="0 0 ${steps.length * stepWidth} ${height}" preserveAspectRatio="none">${bars}</svg>
<figcaption><span>${span} ago</span><span>${whose}</span><span>now</span><span class="legend">${legend}</span></figcaption></figure>
`;
}

function addSteps(all: readonly (RecentStep | undefined)[]): RecentStep {
  return countFates((fate) => sumOf(all, (step) => step?.[fate] ?? 0));
}

function drawStep(step: RecentStep, x: number, scale: number): Html[] {
  let top = height;
  return fates.map((fate) => {
    const tall = step[fate] * scale;
    if (tall === 0) return nothing;
    top -= tall;
    return html`<rect class="${fate}" x="${x}" y="${top.toFixed(2)}" width="${stepWidth - 2}" height="${tall.toFixed(2)}"/>`;
  });
}

/** One of several: `sandbox: 0 of 600 requests failed.` */
function showShare(recent: Recent): Html {
  return html`${recent.name}: ${showFailed(recent)} failed. `;
}

/** Why requests or callbacks of an environment fail, the commonest first. */
function describeTrouble(recent: Recent, docsUrl: string | undefined): Html[] {
  const { name, failures: kinds } = recent;
  const others = sumOf(kinds.slice(named), ({ count }) => count);
  const [whose, place] =
    recent.what === "callback"
      ? ["Callbacks: ", html`<a href="#callbacks">callbacks</a>`]
      : ["", html`<a href="#failures">failures</a>`];
  const rest = others === 0 ? nothing : html`${whose}${showCount(others)} × others in ${name}: see ${place}.`;
  return [...kinds.slice(0, named).map((failure) => describeFailure(recent, failure, docsUrl)), rest];
}

function describeFailure(recent: Recent, failure: RecentFailure, docsUrl: string | undefined): Html {
  const { by, what, count, site, cause } = failure;
  const whose = site === undefined || site === "none" ? nothing : html`, all of ${showName(site)}`;
  const place = html`<strong>${showCount(count)} × <code>${what}</code></strong> in ${recent.name}${whose}`;
  if (recent.what === "callback")
    return html`Callbacks: ${place}. ${describeCallback(recent, failure)} ${help(callbackHelp, docsUrl)}`;
  if (by === "service") {
    if (what in failures) return html`${place}. The service’s answer began, and the caller did not get all of it.`;
    return html`${place}, answered by the service. ${serviceRefusal(what, recent.failed === recent.requests)}${helpOn(what, docsUrl)}`;
  }
  if (what === "499") return html`${place}. The caller left before it had an answer.`;
  if (tokenOutages.some((code) => code === what)) return html`${place}. <a href="#tokens">Tokens</a> says why.`;
  const row = failures[what as FailureCode];
  const why = what === "upstream_timeout" ? missing[cause ?? ""] : describeUnreached(recent, cause);
  return html`${place}. ${why ?? showSentence(row?.meaning ?? "")}${helpOn(String(row?.status), docsUrl)}`;
}

/** What was awaited at the deadline, by the causes of `upstream_timeout`. */
const missing: Readonly<Record<string, string>> = {
  "no connection": "No connection to the service was ready at the deadline: nothing was sent.",
  "no answer": "The service had given no answer at the deadline: the order may exist.",
  "incomplete answer": "The service’s answer was not complete at the deadline: the order may exist.",
  "slow service": "The service had not taken the whole request at the deadline: it may have had an effect.",
  "slow caller": "The caller took the answer too slowly: the order may exist.",
  shutdown: "This process ended before the answer came: the order may exist.",
};

/** Why callbacks do not reach the application, or what it did with them. */
function describeCallback(recent: Recent, { what, cause }: RecentFailure): Html {
  const unreached = what === "application_unreachable" ? describeUnreached(recent, cause) : undefined;
  if (unreached !== undefined) return html`${unreached}`;
  const detail = cause === undefined ? nothing : html` <code>${recent.url}</code>: ${cause}.`;
  return html`${showSentence(meaningOfCallback(what))}${detail}`;
}

function describeUnreached({ url, peerAt }: Recent, cause: string | undefined): string | undefined {
  return cause && `${describeUnreachable(cause, peerAt(new URL(url).origin))}.`;
}

/** The sections of docs/troubleshooting.md, by the first statuses of their titles. */
const sections: Readonly<Record<string, string>> = {
  "400": "orders-get-400",
  "401": "every-order-gets-401",
  "403": "every-order-gets-403",
  "404": "every-order-gets-404",
  "422": "orders-get-422",
  "429": "orders-get-429",
  "500": "orders-get-500",
  "502": "orders-get-502-or-504",
  "503": "orders-get-503",
  "504": "orders-get-502-or-504",
};

/** Where the documents say more about requests that get a status; undefined without a section of its own. */
export function sectionOn(status: string): string | undefined {
  const section = status.startsWith("3") ? "orders-get-a-redirect" : sections[status];
  return section && `troubleshooting.md#${section}`;
}

function helpOn(status: string, docsUrl: string | undefined): Html {
  const section = sectionOn(status);
  return section === undefined ? nothing : html` ${help(section, docsUrl)}`;
}

/**
 * Empty without an outage.
 * @param fate what happens to orders meanwhile
 */
function describeOutage(
  environment: EnvironmentStatus,
  outage: SitesWithoutToken | undefined,
  fate: "not sent" | "signed",
  now: string,
): Html {
  if (outage === undefined) return nothing;
  const { sites, since, lastRequest, nextTryAt } = outage;
  const lasting = since === undefined ? "" : ` for ${describeSpan(since, now)}`;
  const isDue = nextTryAt === undefined || Date.parse(nextTryAt) <= Date.parse(now) + 1_000;
  return html`<a href="#tokens"><strong>No token</strong></a> for ${listNames(sites, named)} of <strong>${environment.name}</strong>${lasting}:
${describeNoToken(lastRequest)}. Their orders are ${fate}. Next try ${isDue ? "now" : describeAge(nextTryAt, now)}.`;
}

/** Why the last request brought no token, and what to do. */
function describeNoToken(last: TokenRequestStatus | undefined): string {
  const { detail = "none was issued", fix = "see the log" } = last ?? {};
  return `${detail}; ${fix}`;
}

/** Those that nobody has looked for yet. */
export function openOutcomes({ unknownOutcomes, settledOutcomes }: StatusSnapshot["requests"]): number {
  return unknownOutcomes - settledOutcomes;
}

/** Orders that may exist, although their caller got no answer that says so. Empty if there are none. */
export function unknownOutcomes({ at, requests, unknownOutcomes: all }: StatusSnapshot, address: string): Html {
  const count = openOutcomes(requests);
  const settled = all.filter((each) => each.settled !== undefined);
  const looked = settled.length === 0 ? nothing : showSettled(settled, at);
  if (count === 0) return looked;
  const shown = all.filter((each) => each.settled === undefined);
  const caption = "Requests whose outcome is unknown, newest first";
  const earlier = count - shown.length;
  const more = earlier === 0 ? nothing : html`<p class="rest">And ${showCount(earlier)} before these, in the log.</p>`;
  return html`<section class="verdict bad" aria-labelledby="unknown">
<p class="figure" aria-hidden="true">${showCount(count)}</p>
<div class="words">
<h2 id="unknown">${showCount(count)} ${plural(count, "outcome is", "outcomes are")} unknown</h2>
<p>${plural(count, "It was", "They were")} sent, and the service gave no complete answer, or a 5xx: <strong>an order may exist.</strong>
Look for the reference at the service before anything is sent again.</p>
${shown.some(({ reference }) => reference === undefined) ? withoutReference : nothing}<p>The log of every replica has the rest: <code>"level":"error"</code> with <code>"outcome":"unknown"</code>.</p>
${shown.slice(0, 1).map(({ requestId }) => showCommand(requestId, address))}</div>
${table(caption, outcomeColumns(at), shown, shownOutcomes)}${more}</section>
${looked}`;
}

/** How to take an outcome off the list. */
function showCommand(requestId: string, address: string): Html {
  return html`<p>Once you know, this takes the first one off this list; <code>false</code> if there is no order:</p>
<pre>curl -sS -H 'Content-Type: application/json' -d '{"found":true}' 'http://${address}/status/unknown/${requestId}'</pre>
`;
}

/** The outcomes that somebody has looked for. */
function showSettled(settled: readonly UnknownOutcome[], now: string): Html {
  const { length } = settled;
  const title = `${showCount(length)} unknown ${plural(length, "outcome was", "outcomes were")} settled`;
  return section("settled", title, table("Requests that were looked for", settledColumns(now), settled, shownOutcomes));
}

const withoutReference = html`<p>Without a reference, look by site and time. An application gives one in <code>Countersign-Reference</code>.</p>
`;

function plural(count: number, one: string, many: string): string {
  return count === 1 ? one : many;
}

/** The newest; the others are folded. */
const shownOutcomes = 5;
const outcomeColumns = (now: string): readonly Column<UnknownOutcome>[] => [
  [
    "Reference",
    ({ reference: name }) => (name === undefined ? quiet("–") : html`<span class="reference">${showName(name)}</span>`),
  ],
  ["Operation", ({ operation = "none" }) => showName(operation)],
  ["When", ({ at }) => showTime(at, now)],
  ["Site", ({ environment, site }) => showPlace(environment, site)],
  ["Caller", ({ caller }) => (caller === undefined ? quiet("–") : showName(caller))],
  ["What happened", showEnd],
  ["Request id", ({ requestId }) => showName(requestId)],
];

const settledColumns = (now: string): readonly Column<UnknownOutcome>[] => [
  ...outcomeColumns(now).slice(0, 1),
  ["Found", ({ settled }) => showName(settled?.found ? "found" : "not found")],
  ["Note", ({ settled }) => (settled?.note === undefined ? quiet("–") : showName(settled.note))],
  ["Its key", ({ settled }) => (settled?.key === undefined ? quiet("–") : showName(settled.key))],
  ["Settled", ({ settled }) => (settled?.at === undefined ? quiet("–") : showTime(settled.at, now))],
  ["Request id", ({ requestId }) => showName(requestId)],
];

function showEnd({ code, status, stage }: UnknownOutcome): Html {
  const end = code ?? (status === undefined ? "caller left" : `answered ${status}`);
  const isWhole = code === undefined && status !== undefined;
  return html`<code>${end}</code> ${quiet(isWhole ? "" : (momentOf[stage] ?? ""))}`;
}

/** When a request ended, by its stage. */
const momentOf: Readonly<Record<string, string>> = {
  send: "before an answer came",
  stream_answer: "while the answer came",
};

/** What else needs attention, one line each; empty if nothing does. */
export function notices(snapshot: StatusSnapshot): Html {
  const { readiness, redis, reload, environments, callbacks, droppedLogLines, docsUrl, at } = snapshot;
  const lines = list([
    readiness.isReady ? nothing : html`Not ready: ${readiness.reason}.`,
    ...environments.map((each) => describeOutage(each, each.bridgedOutage, "signed", at)),
    ...showSets(listUnrenewed(snapshot), at),
    ...callbacks.map((listener) => describeUntaken(listener, docsUrl, at)),
    ...redis
      .filter(({ isUp }) => isUp === false)
      .map((server) => describeAway(server, callbacks.length > 0, docsUrl, at)),
    reload.lastRefused?.isPending
      ? html`<a href="#process">A new configuration was refused</a>; the old one stays active.`
      : nothing,
    ...environments.map((each) => describeClock(each, docsUrl)),
    droppedLogLines === 0 ? nothing : describeLostLines(droppedLogLines, docsUrl),
    ...environments.map(({ name, refusedSiteFiles = [] }) => {
      const files = refusedSiteFiles.map(({ file }) => file);
      return files.length === 0 ? nothing : html`Site files of ${name} are refused: ${listNames(files, named)}.`;
    }),
  ]);
  if (lines === nothing) return nothing;
  return html`<section class="notice warn" aria-label="Needs attention">${lines}</section>
`;
}

/** As for the alert CountersignClockSkew. */
const longestSkewSeconds = 30;

/** Empty while this machine's clock agrees with the service's. */
function describeClock({ name, clockSkewSeconds: seconds = 0 }: EnvironmentStatus, docsUrl: string | undefined): Html {
  if (Math.abs(seconds) <= longestSkewSeconds) return nothing;
  const span = describeDuration(Math.abs(seconds) * 1_000);
  const side = seconds > 0 ? "ahead of" : "behind";
  return html`<strong>This machine&rsquo;s clock is ${span} ${side} the service&rsquo;s</strong> (${name}): all times here are off, and signed orders may be refused; ${help("alerts/CountersignClockSkew.md", docsUrl)}.`;
}

function describeLostLines(count: number, docsUrl: string | undefined): Html {
  const lines = plural(count, "log line is", "log lines are");
  return html`<strong>${showCount(count)} ${lines} lost</strong> since the start: standard output was not read, or a disk was full; ${help("alerts/CountersignLogLinesDropped.md", docsUrl)}.`;
}

/** The sets whose last token request failed. One without a token is in the headline alone, unless it was refused and the headline has another reason. */
function listUnrenewed({ credentials, environments }: StatusSnapshot): CredentialStatus[] {
  const told = environments.flatMap(({ tokenOutage, bridgedOutage }) =>
    [tokenOutage, bridgedOutage].map((outage) => outage?.lastRequest?.fix),
  );
  return credentials.filter(({ failingSince, token, lastRequest }) => {
    if (failingSince === undefined) return false;
    return token !== "none" || (lastRequest?.result === "refused" && !told.includes(lastRequest.fix));
  });
}

function showSets(sets: readonly CredentialStatus[], now: string): Html[] {
  const more = sets.length - named;
  const rest = more > 0 ? html`<a href="#tokens">And ${showCount(more)} more sets get no new token.</a>` : nothing;
  return [...sets.slice(0, named).map((set) => describeUnrenewed(set, now)), rest];
}

function describeUnrenewed({ environment, credential, token, lastRequest }: CredentialStatus, now: string): Html {
  return html`<a href="#tokens">No new token for <code>${credential}</code></a> of ${environment}: ${describeNoToken(lastRequest)}. ${describeLeft(token, lastRequest, now)}`;
}

function describeLeft(token: CredentialStatus["token"], last: TokenRequestStatus | undefined, now: string): string {
  if (token === "none") return "It has none.";
  if (last?.reason === "unauthorized") return "The service has refused the one that it has.";
  return `The one it has expires ${describeAge(token.expiresAt, now)}.`;
}

/** How an outage of Redis affects tokens, keys of Countersign-Once, and callbacks. */
function describeAway(server: RedisStatus, hasCallbacks: boolean, docsUrl: string | undefined, now: string): Html {
  const { node, since, failure = "connection" } = server;
  const [present, past] = isAnswer(failure)
    ? ["refuses commands", "has refused commands"]
    : ["is away", "has been away"];
  const away = since === undefined ? present : `${past} for ${describeSpan(since, now)}`;
  const what = html`<a href="#redis">Redis <code>${node}</code> ${away}</a> (${describeRedisFailure(server)}; ${help("alerts/CountersignRedisDown.md", docsUrl)}).`;
  const refused = html`Requests with <code>Countersign-Once</code> are refused`;
  if (node === claimsNodeName) return html`${what} ${refused}; tokens are shared as before.`;
  if (node !== "cache") return html`${what} It is one of several for the refresh lock.`;
  const callbacks = hasCallbacks ? html`; so are callbacks, where <code>replay</code> is <code>strict</code>` : nothing;
  return html`${what} This process keeps its own tokens. ${refused}${callbacks}.`;
}
