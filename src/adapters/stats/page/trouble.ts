import { describeUnreachable, explainConnectFailure } from "../../../model/connect-failure.ts";
import { sectionOn } from "../../../model/documents.ts";
import { type FailureCode, failures, isMistake } from "../../../model/errors.ts";
import { forgeryReasons, tokenOutages } from "../../../model/events.ts";
import { claimsNodeName, describeRedisFailure } from "../../../model/redis-access.ts";
import type { RecentFailure } from "../recent-requests.ts";
import type { RedisStatus, StatusSnapshot } from "../stats.ts";
import { groupBy, sumOf } from "../sums.ts";
import { type Html, help, html, mostNamed, nothing, showCount, showName, showSentence } from "./html.ts";
import { countAll, type Recent } from "./judge.ts";
import { callbackHelp, meaningOfCallback, serviceRefusal } from "./meanings.ts";

/** Failures of one kind; several only if they are one bullet. */
type Kinds = readonly [RecentFailure, ...RecentFailure[]];

/** Why requests or callbacks of an environment fail: what an operator can mend first, and then the commonest. */
export function describeTrouble(recent: Recent, snapshot: StatusSnapshot): Html[] {
  const { name } = recent;
  const all = sortKinds(recent, snapshot);
  const others = sumOf(all.slice(mostNamed).flat(), ({ count }) => count);
  const [whose, place] =
    recent.what === "callback"
      ? ["Callbacks: ", html`<a href="#callbacks">callbacks</a>`]
      : ["", html`<a href="#failures">failures</a>`];
  const rest = others === 0 ? nothing : html`${whose}${showCount(others)} × others in ${name}: see ${place}.`;
  return [...all.slice(0, mostNamed).map((kinds) => describeKinds(recent, kinds, snapshot)), rest];
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
    // Its causes are short, and many at once are no news.
    what === "malformed_request" ? what : `${by} ${what} ${cause} ${server} ${location}`,
  );
  const all = [...bullets.values()] as unknown as readonly Kinds[];
  return all.toSorted((one, other) => rankOf(recent, one) - rankOf(recent, other) || countOf(other) - countOf(one));
}

function countOf(kinds: Kinds): number {
  return sumOf(kinds, ({ count }) => count);
}

/** Behind everything else: mistakes of callers, and callbacks that anybody may have made up. */
function rankOf({ what: whose }: Recent, [{ what }]: Kinds): 0 | 1 {
  if (whose === "callback") return what !== "key_missing" && forgeryReasons.some((each) => each === what) ? 1 : 0;
  return isMistake(what) ? 1 : 0;
}

function describeKinds(recent: Recent, kinds: Kinds, snapshot: StatusSnapshot): Html {
  const { docsUrl, redis } = snapshot;
  const [failure, ...more] = kinds;
  const { by, what, cause, location } = failure;
  const site = more.every((each) => each.site === failure.site) ? failure.site : undefined;
  const whose = site === undefined || site === "none" ? nothing : html`, all of ${showName(site)}`;
  const place = html`<strong>${showCount(countOf(kinds))} × <code>${what}</code></strong> in ${recent.name}${whose}`;
  if (recent.what === "callback")
    return html`Callbacks: ${place}. ${describeCallback(recent, failure, redis)} ${help(callbackHelp, docsUrl)}`;
  if (by === "service") {
    if (what in failures) return html`${place}. The service’s answer began, and the caller did not get all of it.`;
    const to = location === undefined ? nothing : html` with Location ${showName(location)}`;
    return html`${place}, answered by the service${to}. ${serviceRefusal(what, recent.failed === recent.requests)}${helpOn(what, docsUrl)}`;
  }
  if (what === "499") return html`${place}. The caller left before it had an answer.`;
  if (tokenOutages.some((code) => code === what)) {
    const why = cause === undefined ? nothing : html` (authorization server: ${cause})`;
    return html`${place}${why}. <a href="#tokens">Tokens</a> has the last answer.`;
  }
  const row = failures[what as FailureCode];
  const why = explain(recent, kinds, redis) ?? showSentence(row?.meaning ?? "");
  return html`${place}. ${why}${helpOn(String(row?.status), docsUrl)}`;
}

/** The cause of a failure, if more is known of it than its code's meaning. */
function explain(recent: Recent, kinds: Kinds, redis: readonly RedisStatus[]): Html | string | undefined {
  const [failure] = kinds;
  switch (failure.what) {
    case "upstream_timeout":
      return missing[failure.cause ?? ""];
    case "once_unavailable":
      return failure.cause === "tokens.cache" ? withoutRedis : describeRedis(keysNode(redis));
    case "malformed_request":
      return failure.cause === undefined ? undefined : describeMalformed(kinds);
    case "upstream_unreachable":
      return describeUnreached(recent, failure);
    default:
      return undefined;
  }
}

const withoutRedis = showSentence("There is no Redis that replicas share: set `tokens.cache: redis`.");

/** `3 × HTTP/2, 1 × Host` */
function describeMalformed(kinds: Kinds): Html {
  const causes = kinds.map(({ count, cause = "other" }) => `${showCount(count)} × ${cause}`);
  return html`${causes.join(", ")}. The log has each caller’s address.`;
}

/** The Redis that keeps the keys of Countersign-Once. */
export function keysNode(redis: readonly RedisStatus[]): RedisStatus | undefined {
  return redis.find(({ node }) => node === claimsNodeName) ?? redis.find(({ node }) => node === "cache");
}

function describeRedis(server: RedisStatus | undefined): string | undefined {
  return server?.isUp === false ? `${describeRedisFailure(server)}.` : undefined;
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
  return html`${showSentence(meaningOfCallback(what))}${detail}`;
}

/** Why there was no connection to the server of that time, which a reload may have replaced. */
function describeUnreached({ url, peerAt }: Recent, { cause, server }: RecentFailure): string | undefined {
  if (cause === undefined) return undefined;
  const { origin } = new URL(url);
  if (server === undefined || server === origin) return `${describeUnreachable(cause, peerAt(origin))}.`;
  const { setting, ...peer } = peerAt(server);
  const { detail = `no connection (${cause})` } = explainConnectFailure(cause, { setting, ...peer }) ?? {};
  return `${server}: ${detail}; ${setting} does not name it any more.`;
}

function helpOn(status: string, docsUrl: string | undefined): Html {
  const section = sectionOn(status);
  return section === undefined ? nothing : html` ${help(section, docsUrl)}`;
}
