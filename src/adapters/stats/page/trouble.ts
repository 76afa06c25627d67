import { explainConnectFailure } from "../../../model/connect-failure.ts";
import { sectionOn } from "../../../model/documents.ts";
import { type FailureCode, failures, isMistake } from "../../../model/errors.ts";
import { forgeryReasons, tokenOutages } from "../../../model/events.ts";
import { describeRedisFailure } from "../../../model/redis-access.ts";
import { explainAnswer, explainCallback, inSentences } from "../../../model/service-answer.ts";
import { acceptsOthers, type RecentFailure } from "../recent-requests.ts";
import type { RedisStatus, StatusSnapshot } from "../stats.ts";
import { groupBy, sumOf } from "../sums.ts";
import type { CredentialStatus } from "../token-stats.ts";
import { type Html, help, html, mostNamed, nothing, showCount, showName, showSentence } from "./html.ts";
import { countAll, hasEnded, isMended, keysNode, needsRedis, type Recent } from "./judge.ts";

/** The section that has each result of a callback, and what to do. */
export const callbackHelp = "troubleshooting.md#callbacks-do-not-arrive";

/** Failures of one kind; several only if they are one bullet. */
type Kinds = readonly [RecentFailure, ...RecentFailure[]];

/** A bullet: what failed where, and why, if that is told apart. */
interface Trouble {
  readonly place: Html;
  readonly why?: Html;
}

/** One bullet for equal causes: a Redis that is away fails the requests of every environment. */
export function foldTroubles(all: readonly Trouble[]): Html[] {
  const shown = all.filter(({ place }) => place !== nothing);
  return [...groupBy(shown, ({ place, why = place }) => why.text).values()].map((alike) => {
    const [first = nothing, ...more] = alike.map(({ place }) => place);
    return html`${first}${more.map((place) => html`; ${place}`)}${alike[0]?.why ?? nothing}`;
  });
}

/** Why requests or callbacks of an environment fail: what an operator can mend now comes first. */
export function describeTrouble(recent: Recent, snapshot: StatusSnapshot): Trouble[] {
  const { name } = recent;
  const all = sortKinds(recent, snapshot);
  const others = sumOf(all.slice(mostNamed).flat(), ({ count }) => count);
  const [whose, place] =
    recent.what === "callback"
      ? ["Callbacks: ", html`<a href="#callbacks">callbacks</a>`]
      : ["", html`<a href="#failures">failures</a>`];
  const rest = others === 0 ? nothing : html`${whose}${showCount(others)} × others in ${name}: see ${place}.`;
  const odd = recent.notJson.slice(0, mostNamed).map((each) => describeType(recent, each, snapshot.docsUrl));
  const kinds = all.slice(0, mostNamed).map((each) => describeKinds(recent, each, snapshot));
  return [...kinds, ...[...odd, rest].map((place) => ({ place }))];
}

/** Answers that are not JSON, although that was asked for, and no failure was seen. */
function describeType(recent: Recent, { contentType, count }: Recent["notJson"][number], docsUrl?: string): Html {
  const { detail = "", fix } = explainAnswer(200, { path: `environments.${recent.name}`, contentType }) ?? {};
  return html`<strong>${showCount(count)} × <code>${contentType}</code></strong> in ${recent.name}. ${sayOf(recent, {}, detail, fix)}${helpOn("200", docsUrl)}`;
}

/** `<environment> <what>` of each failing request that the headline describes. */
export function namedIn(snapshot: StatusSnapshot): ReadonlySet<string> {
  const ofRequests = countAll(snapshot).filter(({ what }) => what === "request");
  return new Set(
    ofRequests.flatMap((recent) => {
      const named = sortKinds(recent, snapshot).slice(0, mostNamed);
      return named.map(([{ what }]) => `${recent.name} ${what}`);
    }),
  );
}

function sortKinds(recent: Recent, { environments }: StatusSnapshot): readonly Kinds[] {
  const outages = environments.find(({ name }) => name === recent.name)?.tokenOutages ?? [];
  const without = new Set(outages.flatMap(({ sites }) => sites));
  const isToldAbove = ({ what, site }: RecentFailure) =>
    without.size > 0 && tokenOutages.some((code) => code === what) && (site === undefined || without.has(site));
  const kinds = recent.failures.filter((failure) => !isToldAbove(failure));
  const bullets = groupBy(kinds, ({ by, what, cause, server, location }) =>
    manyCaused.has(what) ? what : `${by} ${what} ${cause} ${server} ${location}`,
  );
  const all = [...bullets.values()] as unknown as readonly Kinds[];
  return all.toSorted((one, other) => rankOf(recent, one) - rankOf(recent, other));
}

function countOf(kinds: Kinds): number {
  return sumOf(kinds, ({ count }) => count);
}

/** Behind everything else: former servers, mistakes of callers, and callbacks that anybody may have made up. */
function rankOf({ what: whose, url }: Recent, [{ what, server = url }]: Kinds): 0 | 1 {
  if (!isAt(server, url)) return 1;
  if (whose === "callback") return what !== "key_missing" && forgeryReasons.some((each) => each === what) ? 1 : 0;
  return isMistake(what) ? 1 : 0;
}

function describeKinds(recent: Recent, kinds: Kinds, snapshot: StatusSnapshot): Trouble {
  const [failure, ...more] = kinds;
  const { by, what, location, server = recent.url } = failure;
  const site = more.every((each) => each.site === failure.site) ? failure.site : undefined;
  const whose = site === undefined || site === "none" ? nothing : html`, all of ${showName(site)}`;
  const place = html`<strong>${showCount(countOf(kinds))} × <code>${what}</code></strong> in ${recent.name}${whose}`;
  const isOfCallback = recent.what === "callback";
  const fault = isOfCallback ? "Callbacks: " : by !== "service" && isMistake(what) ? "Callers’ mistakes: " : "";
  const to = by !== "service" || location === undefined ? nothing : html` with Location ${showName(location)}`;
  // The causes are told in the present tense.
  const isOver = hasEnded(recent, snapshot.at) || kinds.every(({ isFormer }) => isFormer);
  const isOfToken = tokenOutages.some((code) => code === what);
  const isPast = isOfToken || !isAt(server, recent.url) || (isOver && !needsRedis(recent, snapshot));
  const then = isPast && what !== "499" && !isMistake(what) ? "At that time: " : "";
  return { place: html`${fault}${place}${to}`, why: html`. ${then}${describeCause(recent, kinds, snapshot)}` };
}

function describeCause(recent: Recent, kinds: Kinds, snapshot: StatusSnapshot): Html {
  const { docsUrl, redis } = snapshot;
  const [failure] = kinds;
  const { by, what, cause, reason } = failure;
  if (recent.what === "callback")
    return html`${describeCallback(recent, failure, redis)} ${help(callbackHelp, docsUrl)}`;
  if (by === "service") return html`${describeAnswer(recent, failure, snapshot)}${helpOn(what, docsUrl)}`;
  if (what === "499") return html`The caller left before it had an answer.`;
  if (tokenOutages.some((code) => code === what)) {
    const why = reason ?? `Authorization server: ${cause ?? "no token in time"}`;
    return html`${why}. Tokens are <a href="#tokens">issued again</a>.`;
  }
  const row = failures[what as FailureCode];
  const why = explain(recent, kinds, redis) ?? showSentence(row?.meaning ?? "");
  return html`${why}${helpOn(String(row?.status), docsUrl)}`;
}

/** Which server answered so, what that means, and what to do. */
function describeAnswer(recent: Recent, failure: RecentFailure, snapshot: StatusSnapshot): string {
  const [{ name }, { what, site = "", auth }] = [recent, failure];
  if (what in failures) return sayOf(recent, failure, "its answer began, and the caller did not get all of it");
  const hasNone = ({ environment, credential, isActive, failingSince }: CredentialStatus) =>
    environment === name && credential.startsWith(site) && isActive && failingSince !== undefined;
  if (what === "401" && auth === "oauth" && snapshot.credentials.some(hasNone))
    return sayOf(recent, failure, "it does not accept the token", "see why no new one comes");
  const isEvery = recent.failed === recent.requests;
  const environment = snapshot.environments.find((each) => each.name === name);
  const isOfSite = !isEvery && environment !== undefined && acceptsOthers(site || undefined, environment, snapshot.at);
  const known = { path: `environments.${name}`, auth, isEvery, acceptsOthers: isOfSite };
  const { detail = "it answered so", fix } = explainAnswer(Number(what), known) ?? {};
  return sayOf(recent, failure, detail, fix);
}

/** `https://api.example: it gets too many requests; send fewer.` A server that was replaced, or works now, has nothing to mend. */
function sayOf(recent: Recent, failure: Partial<RecentFailure>, detail: string, fix?: string): string {
  const { url, peerAt } = recent;
  const { what = "", server = url, operation = "/" } = failure;
  const isCurrent = isAt(server, url);
  // A reload may have corrected the path.
  const hasPath =
    isCurrent && !isMended(recent) && /^(3..|404|405)$/.test(what) && !/^(\/|other$|none$)/.test(operation);
  const mend = isMended(recent) || failure.isFormer ? undefined : fix;
  const todo = isCurrent ? mend : `${peerAt(server).setting} does not name it any more`;
  return `${hasPath ? `${url}/${operation}` : server}: ${detail}${todo === undefined ? "" : `; ${todo}`}.`;
}

function isAt(server: string, url: string): boolean {
  return url === server || url.startsWith(`${server}/`);
}

/** The cause of a failure, if more is known of it than its code's meaning. */
function explain(recent: Recent, kinds: Kinds, redis: readonly RedisStatus[]): Html | string | undefined {
  const [failure] = kinds;
  const { what, cause = "" } = failure;
  switch (what) {
    case "upstream_timeout":
    case "upstream_reset":
    case "upstream_bad_response": {
      const broken = brokenOff[what] ?? brokenOff[cause];
      const hasFix = !["no connection", "slow caller", "shutdown"].includes(cause);
      return broken && sayOf(recent, failure, broken, hasFix ? failures[what].fix : undefined);
    }
    case "once_unavailable":
      return cause === "tokens.cache" ? withoutRedis : describeRedis(keysNode(redis), failure.reason);
    case "malformed_request":
    case "method_not_allowed":
      return failure.cause === undefined ? undefined : describeCauses(kinds);
    case "upstream_unreachable":
      return describeUnreached(recent, failure);
    default:
      return undefined;
  }
}

const withoutRedis = showSentence("There is no Redis that replicas share: set `tokens.cache: redis`.");

/** Mistakes of callers whose causes are one bullet: they are short, and many at once are no news. */
const manyCaused: ReadonlySet<string> = new Set<FailureCode>(["malformed_request", "method_not_allowed"]);

/** `3 × HTTP/2, 1 × Host` */
function describeCauses(kinds: Kinds): Html {
  const causes = kinds.map(({ count, cause = "other" }) => `${showCount(count)} × ${shorten(cause)}`);
  return html`${causes.join(", ")}. The log has each caller’s address.`;
}

/** `method` of HPE_INVALID_METHOD. */
function shorten(cause: string): string {
  const [, words] = /^HPE_(?:INVALID_)?(.*)/.exec(cause) ?? [];
  return words?.replace("CR_EXPECTED", "line end").replaceAll("_", " ").toLowerCase() ?? cause;
}

/** Why Redis is away; once it is back, why it was. */
function describeRedis(server: RedisStatus | undefined, reason?: string): string | undefined {
  if (server?.isUp === false) return `${describeRedisFailure(server)}.`;
  return reason && `${reason}. Redis is back.`;
}

/** How a request to the service broke off, and what `upstream_timeout` awaited, by its cause: clauses about the service. */
const brokenOff: Readonly<Record<string, string>> = {
  upstream_reset: "the connection broke before its answer was complete: the order may exist",
  upstream_bad_response: "its answer is not HTTP/1.1, or not to this request: the order may exist",
  "no connection": "it had no connection ready at the deadline: nothing was sent",
  "no answer": "it had given no answer at the deadline: the order may exist",
  "incomplete answer": "its answer was not complete at the deadline: the order may exist",
  "slow service": "it had not taken the whole request at the deadline: it may have had an effect",
  "slow caller": "the caller took its answer too slowly: the order may exist",
  shutdown: "this process ended before it had answered: the order may exist",
};

/** Why callbacks do not reach the application, or what it did with them. */
function describeCallback(recent: Recent, failure: RecentFailure, redis: readonly RedisStatus[]): Html {
  const { what, cause } = failure;
  const known =
    what === "application_unreachable"
      ? describeUnreached(recent, failure)
      : what === "replay_store_unavailable"
        ? describeRedis(redis.find(({ node }) => node === "cache"))
        : undefined;
  if (known !== undefined) return html`${known}`;
  const detail = cause === undefined ? nothing : html` <code>${recent.url}</code>: ${cause}.`;
  return html`${showSentence(inSentences(explainCallback(what)))}${detail}`;
}

/** Why there was no connection to the server of that time, which a reload may have replaced. */
function describeUnreached(recent: Recent, failure: RecentFailure): string | undefined {
  const { cause, server = new URL(recent.url).origin } = failure;
  if (cause === undefined) return undefined;
  const { detail = `no connection (${cause})`, fix } = explainConnectFailure(cause, recent.peerAt(server)) ?? {};
  return sayOf(recent, { server }, detail, fix);
}

function helpOn(status: string, docsUrl: string | undefined): Html {
  const section = sectionOn(status);
  return section === undefined ? nothing : html` ${help(section, docsUrl)}`;
}
