import { describeSkew } from "../../../model/clock.ts";
import { listNames } from "../../../model/names.ts";
import { claimsNodeName, describeRedisFailure, isAnswer } from "../../../model/redis-access.ts";
import type { EnvironmentStatus, RedisStatus, RefusedReload, ReloadState, StatusSnapshot } from "../stats.ts";
import { groupBy } from "../sums.ts";
import type { CredentialStatus, TokenRequestStatus } from "../token-stats.ts";
import {
  describeAge,
  describeSpan,
  type Html,
  help,
  html,
  list,
  mostNamed,
  nothing,
  plural,
  showCount,
} from "./html.ts";
import { applicationAt, keysNode, refusedConfiguration } from "./judge.ts";
import { describeNoToken, describeOutages } from "./tokens.ts";
import { describeUntaken } from "./traffic.ts";
import { namedIn } from "./trouble.ts";

export const becauseOf: Readonly<Record<ReloadState["trigger"], string>> = {
  start: "since the start",
  sighup: "after a SIGHUP",
  file_change: "after a file had changed",
};

/** What else needs attention: what is named in the title, and a line for each. */
export function findNotices(snapshot: StatusSnapshot) {
  const { readiness, redis, reload, environments, callbacks, droppedLogLines, docsUrl, at } = snapshot;
  const sets = listUnrenewed(snapshot);
  const setNames = sets.map(({ credential }) => credential);
  const away = redis.filter(({ isUp }) => isUp === false);
  const isRefusing = away.every(({ failure = "connection" }) => isAnswer(failure));
  const refusedFiles = environments.map(({ name, refusedSiteFiles = [] }) => {
    const files = refusedSiteFiles.map(({ file }) => file);
    return files.length === 0 ? nothing : html`Site files of ${name} are refused: ${listNames(files, mostNamed)}.`;
  });
  const all: readonly (readonly [clause: string, lines: readonly Html[]])[] = [
    ["it is not ready", [readiness.isReady ? nothing : html`Not ready: ${readiness.reason}.`]],
    [
      "sites sign for want of a token",
      environments.flatMap(({ name, bridgedOutages }) => describeOutages(name, bridgedOutages, "signed", at)),
    ],
    [`no new token comes for ${listNames(setNames, 1)}`, showSets(sets, at)],
    [
      "the last callback was not taken",
      callbacks.map((listener, index) => describeUntaken(listener, applicationAt("", index), docsUrl, at)),
    ],
    [`Redis ${isRefusing ? "refuses commands" : "is away"}`, away.map((server) => describeAway(server, snapshot))],
    [refusedConfiguration, [reload.lastRefused?.isPending ? describeRefused(reload.lastRefused, at) : nothing]],
    ["this machine’s clock is wrong", environments.map((each) => describeClock(each, docsUrl))],
    ["log lines are lost", [droppedLogLines === 0 ? nothing : describeLostLines(droppedLogLines, docsUrl)]],
    ["site files are refused", refusedFiles],
  ];
  const found = all.filter(([, lines]) => lines.some((line) => line !== nothing));
  const lines = list(found.flatMap(([, each]) => each));
  const shown = html`<section class="notice warn" aria-label="Needs attention">${lines}</section>
`;
  return { clauses: found.map(([clause]) => clause), notices: lines === nothing ? nothing : shown };
}

/** The first problem of the configuration; the process's part of the page lists the others. */
function describeRefused({ problems, problemCount, trigger, at: since }: RefusedReload, now: string): Html {
  const [first = ""] = problems;
  const more = problemCount > 1 ? html` (<a href="#process">and ${showCount(problemCount - 1)} more</a>)` : nothing;
  return html`<strong>A new configuration was refused</strong> ${becauseOf[trigger]}, ${describeAge(since, now)}; the old one stays active: ${first}${more}.`;
}

/** Empty while this machine's clock agrees with the service's. */
function describeClock({ name, clockSkewSeconds = 0 }: EnvironmentStatus, docsUrl: string | undefined): Html {
  const words = describeSkew(clockSkewSeconds, name);
  if (words === undefined) return nothing;
  return html`<strong>T${words.slice(1)}</strong>. All times here are off; ${help("alerts/CountersignClockSkew.md", docsUrl)}.`;
}

function describeLostLines(count: number, docsUrl: string | undefined): Html {
  const lines = plural(count, "log line is", "log lines are");
  return html`<strong>${showCount(count)} ${lines} lost</strong> since the start: standard output was not read, or a disk was full; ${help("alerts/CountersignLogLinesDropped.md", docsUrl)}.`;
}

/** The sets whose last token request failed. One without a token is in the headline alone, unless it was refused and the headline has another reason. */
function listUnrenewed({ credentials, environments }: StatusSnapshot): CredentialStatus[] {
  const told = environments.flatMap(({ tokenOutages, bridgedOutages }) =>
    [...tokenOutages, ...bridgedOutages].map(({ lastRequest }) => lastRequest?.fix),
  );
  return credentials.filter(({ failingSince, token, lastRequest }) => {
    if (failingSince === undefined) return false;
    return token !== "none" || (lastRequest?.result === "refused" && !told.includes(lastRequest.fix));
  });
}

/** One line for each cause: an authorization server that is away would fill the page with the same words. */
function showSets(sets: readonly CredentialStatus[], now: string): Html[] {
  const whyOf = ({ environment, token, lastRequest }: CredentialStatus) =>
    `${environment}: ${describeNoToken(lastRequest)}.${describeLeft(token, lastRequest, now)}`;
  const causes = [...groupBy(sets, whyOf)].map(([why, alike]) => {
    const names = alike.map(({ credential }) => credential);
    return html`<a href="#tokens">No new token for <code>${listNames(names, mostNamed)}</code></a> of ${why}`;
  });
  const more = causes.length - mostNamed;
  const rest =
    more > 0 ? html`<a href="#tokens">Sets get no new token for ${showCount(more)} more causes.</a>` : nothing;
  return [...causes.slice(0, mostNamed), rest];
}

function describeLeft(token: CredentialStatus["token"], last: TokenRequestStatus | undefined, now: string): string {
  if (token === "none") return "";
  if (last?.reason === "unauthorized") return " The service has refused the one that it has.";
  return ` The one it has expires ${describeAge(token.expiresAt, now)}.`;
}

/** How an outage of Redis affects tokens, keys of Countersign-Once, and callbacks; and why it is away, unless the headline says so. */
function describeAway(server: RedisStatus, snapshot: StatusSnapshot): Html {
  const { callbacks, redis, docsUrl, at } = snapshot;
  const { node, since, failure = "connection" } = server;
  const [present, past] = isAnswer(failure)
    ? ["refuses commands", "has refused commands"]
    : ["is away", "has been away"];
  const away = since === undefined ? present : `${past} for ${describeSpan(since, at)}`;
  const isTold = server === keysNode(redis) && namesOnce(snapshot);
  const why = isTold ? "" : `${describeRedisFailure(server)}; `;
  const what = html`<a href="#redis">Redis <code>${node}</code> ${away}</a> (${why}${help("alerts/CountersignRedisDown.md", docsUrl)}).`;
  const refused = html`Requests with <code>Countersign-Once</code> are refused`;
  if (node === claimsNodeName) return html`${what} ${refused}; tokens are shared as before.`;
  if (node !== "cache") return html`${what} It is one of several for the refresh lock.`;
  const too =
    callbacks.length > 0 ? html`; so are callbacks, where <code>replay</code> is <code>strict</code>` : nothing;
  return html`${what} This process keeps its own tokens. ${refused}${too}.`;
}

function namesOnce(snapshot: StatusSnapshot): boolean {
  const named = namedIn(snapshot);
  return snapshot.environments.some(({ name }) => named.has(`${name} once_unavailable`));
}
