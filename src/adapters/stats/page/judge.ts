import { describeDuration } from "../../../model/clock.ts";
import { applicationOf, type Peer, serviceOf } from "../../../model/connect-failure.ts";
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
import { plural, showCount } from "./html.ts";
import { openOutcomes } from "./unknown-outcomes.ts";

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
  const [worst] = all;
  const without = sumOf(environments, ({ tokenOutages }) => sumOf(tokenOutages, ({ sites }) => sites.length));
  const seconds = environments[0]?.recent.seconds ?? 0;
  const lately = `in the last ${describeDuration(seconds * 1_000)}`;
  const hasOutage = without > 0;
  const but = describeAmiss(without, openOutcomes(requests), hasNotice);
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
    return { tone: hasOutage ? "bad" : calm, title, share: failed < asked ? "0 %" : "–", what };
  }
  const failing = all.filter((each) => [each, ...each.failingSites].some(isMoreThanChance));
  const isFailing = hasOutage || failing.some((each) => !isOver(each, snapshot));
  const where = environments.length > 1 ? ` in ${worst.name}` : "";
  const over = failing.length > 0 && !isFailing ? "; it seems to be over" : "";
  const title = `${showFailed(worst)} failed${where} ${lately}${over}`;
  return { tone: isFailing ? "bad" : "warn", title, share: describeShare(shareOf(worst)), what };
}

/** What the share of failed requests does not tell. */
function describeAmiss(without: number, unknown: number, hasNotice: boolean): string {
  if (without > 0) return `, but ${showCount(without)} ${plural(without, "site has", "sites have")} no token`;
  if (unknown > 0) return `, but ${showCount(unknown)} ${plural(unknown, "outcome is", "outcomes are")} unknown`;
  return hasNotice ? ", but something needs attention" : "";
}

/** No failure is over while the Redis that refused orders with a key is away, though orders without one succeed. */
function isOver({ failures, lastFailedAt, succeededSince }: Recent, { redis, at }: StatusSnapshot): boolean {
  const needsKeys = failures.some(({ what }) => what === "once_unavailable");
  return seemsOver(lastFailedAt, succeededSince, at) && !(needsKeys && keysNode(redis)?.isUp === false);
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
  readonly notJson: EnvironmentStatus["recent"]["notJson"];
}

/** All that had any: the worst first, as in the headline. */
export function countAll({ environments, callbacks }: StatusSnapshot): readonly Recent[] {
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
    .sort((one, other) => weightOf(other) - weightOf(one));
}

/** The application of a listener for callbacks. @param index the listener's, in the configuration */
export function applicationAt(place: string, index: number): Peer {
  return applicationOf(place, `callbacks[${index}].application`);
}

/** Failing requests come first: anybody who reaches a listener for callbacks can make these fail. */
function weightOf(recent: Recent): number {
  return shareOf(recent) + (recent.what === "request" && isMoreThanChance(recent) ? 1 : 0);
}

/** `20 of 620 requests` */
export function showFailed({ failed, requests, what }: Recent): string {
  return `${showCount(failed)} of ${showCount(requests)} ${plural(requests, what, `${what}s`)}`;
}

/** Never shows 0 % or 100 % for a share that is only near it. */
function describeShare(share: number): string {
  if (share < 0.01) return "< 1 %";
  return share === 1 ? "100 %" : `${Math.min(Math.round(share * 100), 99)} %`;
}
