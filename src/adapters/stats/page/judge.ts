import { describeDuration } from "../../../model/clock.ts";
import { applicationOf, type Peer, serviceOf } from "../../../model/connect-failure.ts";
import { overAfterSuccesses } from "../../../model/events.ts";
import { listNames } from "../../../model/names.ts";
import { claimsNodeName } from "../../../model/redis-access.ts";
import {
  type Counts,
  type FailingSite,
  isMoreThanChance,
  isOfCaller,
  type RecentFailure,
  seemsOver,
  shareOf,
} from "../recent-requests.ts";
import type { EnvironmentStatus, RedisStatus, StatusSnapshot } from "../stats.ts";
import { sumOf } from "../sums.ts";
import { mostNamed, plural, showCount } from "./html.ts";
import { openOutcomes } from "./unknown-outcomes.ts";

/** `good`: nothing failed, and nothing is amiss. `idle`: no request, or none that failed, but something else is amiss. */
type Tone = "good" | "idle" | "warn" | "bad";

/** Whether orders succeed: the page's headline, its title and its icon. */
export interface Verdict {
  readonly tone: Tone;
  readonly title: string;
  /** The share that failed, or that the title counts; `–` without a request. */
  readonly share: string;
  /** What the title counts, and the chart shows. */
  readonly what: Recent["what"];
}

/**
 * Judges the requests and callbacks of the last minutes: those of the environments that fail, since a healthy one must not hide
 * them.
 * @param noticed what else needs attention, as clauses
 */
export function judge(snapshot: StatusSnapshot, noticed: readonly string[]): Verdict {
  const { environments, requests, reload, at } = snapshot;
  const all = countAll(snapshot);
  const [worst] = all;
  const without = sumOf(environments, ({ tokenOutages }) => sumOf(tokenOutages, ({ sites }) => sites.length));
  const seconds = environments[0]?.recent.seconds ?? 0;
  const lately = `in the last ${describeDuration(seconds * 1_000)}`;
  const hasOutage = without > 0;
  const but = describeAmiss(without, openOutcomes(requests), noticed);
  if (worst === undefined) {
    return { tone: hasOutage ? "bad" : "idle", title: `No request ${lately}${but}`, share: "–", what: "request" };
  }
  const { what } = worst;
  if (worst.failed === 0) {
    const odd = all.find(({ notJson }) => notJson.length > 0);
    if (odd !== undefined) return { ...judgeTypes(odd, lately), tone: hasOutage ? "bad" : "warn" };
    const failed = sumOf(all, (each) => each.mistakes);
    const asked = failed + sumOf(all, (each) => (each.what === "request" ? each.requests : 0));
    const calm = isMoreThanChance({ failed, requests: asked }) ? "warn" : failed > 0 || but !== "" ? "idle" : "good";
    const were = plural(failed, "was a caller’s mistake", "were callers’ mistakes");
    const mistakes = failed === 0 ? "" : `; ${showCount(failed)} of ${showCount(asked)} ${were}`;
    const title = `No request failed ${lately}${mistakes}${but}`;
    const share = calm === "warn" ? describeShare(failed / asked) : failed < asked ? "0 %" : "–";
    return { tone: hasOutage ? "bad" : calm, title, share, what };
  }
  const failing = all.filter((each) => [each, ...each.failingSites].some(isMoreThanChance));
  const isAway = hasOutage || failing.some((each) => needsRedis(each, snapshot));
  const isFailing = isAway || failing.some((each) => !seemsOver(each.lastFailedAt, each.succeededSince, at));
  const also = all.filter((each) => each.what === "request" && (failing.includes(each) || shareOf(each) === 1));
  const others = what === "request" ? also.filter((each) => each !== worst) : [];
  const places = [worst.name, ...others.map((each) => `${showShare(each)} in ${each.name}`)];
  const where = environments.length > 1 ? ` in ${listNames(places, mostNamed)}` : "";
  const isOver = failing.length > 0 && !isFailing;
  const since = isOver ? "; it seems to be over" : isAway ? "" : describeSuccesses([worst, ...others]);
  const refused = reload.lastRefused?.isPending ? `; ${refusedConfiguration}` : "";
  const title = `${showFailed(worst)} failed${where} ${lately}${since}${refused}`;
  return { tone: isFailing ? "bad" : "warn", title, share: describeShare(shareOf(worst)), what };
}

export const refusedConfiguration = "a new configuration was refused";

/** What has come since the last failure, while it is too early to say that it is over. */
function describeSuccesses(named: readonly Recent[]): string {
  const count = sumOf(named, ({ succeededSince, othersSince }) => succeededSince + othersSince);
  if (named.some(({ succeededSince }) => succeededSince === 0)) return "";
  return `; the last ${count === 1 ? "one" : showCount(count)} succeeded`;
}

/** What the share of failed requests does not tell. */
function describeAmiss(without: number, unknown: number, noticed: readonly string[]): string {
  const sites = `${showCount(without)} ${plural(without, "site has", "sites have")} no token`;
  const outcomes = `${showCount(unknown)} ${plural(unknown, "outcome is", "outcomes are")} unknown`;
  const all = [...(without > 0 ? [sites] : []), ...(unknown > 0 ? [outcomes] : []), ...noticed];
  return all.length === 0 ? "" : `, but ${listNames(all, mostNamed)}`;
}

/** No failure is over while the Redis that refused orders with a key is away, though orders without one succeed. */
export function needsRedis({ failures }: Recent, { redis }: StatusSnapshot): boolean {
  return failures.some(({ what }) => what === "once_unavailable") && keysNode(redis)?.isUp === false;
}

/** Whether a run of failures has ended: what was to mend works now, as far as one can tell. */
export function isMended({ failedInRow, succeededSince }: Recent): boolean {
  return failedInRow >= overAfterSuccesses && succeededSince >= overAfterSuccesses;
}

/** Whether nothing fails any more, as far as one can tell. @param now ISO 8601 */
export function hasEnded(recent: Recent, now: string): boolean {
  return isMended(recent) || seemsOver(recent.lastFailedAt, recent.succeededSince, now);
}

/** The Redis that keeps the keys of Countersign-Once. */
export function keysNode(redis: readonly RedisStatus[]): RedisStatus | undefined {
  return redis.find(({ node }) => node === claimsNodeName) ?? redis.find(({ node }) => node === "cache");
}

/** Answers that are not JSON: perhaps no order exists. */
function judgeTypes({ notJson, requests, what }: Recent, lately: string): Omit<Verdict, "tone"> {
  const count = sumOf(notJson, (each) => each.count);
  const asked = `${showCount(requests)} ${plural(requests, "answer was", "answers were")}`;
  const title = `${showCount(count)} of ${asked} not JSON ${lately}`;
  return { title, share: describeShare(count / requests), what };
}

/** The last minutes of an environment's requests, or of a listener's callbacks. */
export interface Recent extends Counts {
  /** The environment's. */
  readonly name: string;
  readonly what: "request" | "callback";
  /** Requests that Countersign refused for what their callers sent; not in `requests`. */
  readonly mistakes: number;
  /** Of the service, or of the application that gets the callbacks. */
  readonly url: string;
  /** What texts say of it; `place` is its origin. */
  readonly peerAt: (place: string) => Peer;
  readonly failures: readonly RecentFailure[];
  readonly failingSites: readonly FailingSite[];
  readonly lastFailedAt: string | undefined;
  readonly succeededSince: number;
  readonly othersSince: number;
  readonly failedInRow: number;
  readonly notJson: EnvironmentStatus["recent"]["notJson"];
}

/** All that had any: the worst of those that fail now first, as in the headline. */
export function countAll({ environments, callbacks, at }: StatusSnapshot): readonly Recent[] {
  const all = [
    ...environments.map(({ name, baseUrl: url, recent }) => {
      const peerAt = (place: string) => serviceOf(name, place);
      return { name, what: "request" as const, url, peerAt, ...recent };
    }),
    ...callbacks.map(({ environment: name, application: url, recent }, index) => {
      const peerAt = (place: string) => applicationAt(place, index);
      return { name, what: "callback" as const, url, peerAt, ...recent };
    }),
  ];
  return all
    .filter(({ requests }) => requests > 0)
    .map((recent) => {
      const isMistake = (each: RecentFailure) => recent.what === "request" && isOfCaller(each);
      const mistakes = sumOf(recent.failures, (each) => (isMistake(each) ? each.count : 0));
      const failed = sumOf(recent.failures, ({ count }) => count) - mistakes;
      return { ...recent, mistakes, failed, requests: recent.requests - mistakes };
    })
    .sort((one, other) => weightOf(other, at) - weightOf(one, at));
}

/** The application of a listener for callbacks. @param index the listener's, in the configuration */
export function applicationAt(place: string, index: number): Peer {
  return applicationOf(place, `callbacks[${index}].application`);
}

/** Failing requests come first: anybody who reaches a listener for callbacks can make these fail. */
function weightOf(recent: Recent, now: string): number {
  const share = shareOf(recent);
  if (share === 0 || hasEnded(recent, now)) return share;
  return share + (recent.what === "request" && (share === 1 || isMoreThanChance(recent)) ? 2 : 1);
}

/** `20 of 620 requests` */
export function showFailed(recent: Recent): string {
  return `${showShare(recent)} ${plural(recent.requests, recent.what, `${recent.what}s`)}`;
}

function showShare({ failed, requests }: Recent): string {
  return `${showCount(failed)} of ${showCount(requests)}`;
}

/** Never shows 0 % or 100 % for a share that is only near it. */
function describeShare(share: number): string {
  if (share < 0.01) return "< 1 %";
  return share === 1 ? "100 %" : `${Math.min(Math.round(share * 100), 99)} %`;
}
