import type { AuthMethod } from "../../model/environment.ts";
import { type FailureCode, isMistake } from "../../model/errors.ts";
import {
  type CallbackResult,
  hasUnknownEffect,
  isFailedByService,
  overAfterMs,
  overAfterSuccesses,
  type RequestFinished,
  siteToSucceed,
} from "../../model/events.ts";
import { answerBuckets } from "./metrics.ts";
import { countBy, groupBy, sumOf } from "./sums.ts";

/** The view covers so many steps of this length; the oldest step is dropped when a new one begins. */
const stepMs = 10_000;
const steps = 30;

/** A request succeeded, was refused for a mistake of its caller, failed, or may have had an effect that nobody knows. */
export const fates = ["succeeded", "mistaken", "failed", "unknown"] as const;
type Fate = (typeof fates)[number];
/** How many requests of a step had which fate. */
export type RecentStep = Readonly<Record<Fate, number>>;

export function countFates(count: (fate: Fate) => number): RecentStep {
  return Object.fromEntries(fates.map((fate) => [fate, count(fate)])) as RecentStep;
}

/** What is known of an end beyond its kind, if anything. Foreign text in it is printable and bounded. */
export interface Details {
  /** A code such as ECONNREFUSED, what was awaited at the deadline, such as `no answer`, or what is wrong with a request, such as `HTTP/2`. */
  readonly cause?: string | undefined;
  /** The origin to which there was no connection: a reload may have replaced it since. */
  readonly server?: string | undefined;
  /** Why a server other than the service or the application failed it, such as the authorization server: a clause that names it. */
  readonly reason?: string | undefined;
  /** The host of `Location`, if the service redirected. */
  readonly location?: string | undefined;
  /** Of an answer that succeeded and is not JSON. */
  readonly contentType?: string | undefined;
}

/** One way in which requests, or callbacks, of a site end. Those that end so are counted together. */
export interface End extends Details {
  /** `none` before it is known. */
  readonly site: string;
  /** `none` before it is known; undefined for callbacks, as is the operation's label. */
  readonly auth?: AuthMethod | "none" | undefined;
  readonly operation?: string | undefined;
  /** Of a callback, the application is `service`. */
  readonly by: RequestFinished["by"];
  /** The failure's code, the result of a callback, or the status of the answer. */
  readonly what: string;
  readonly fate: Fate;
}

/** One way in which requests end. */
export interface RequestEnd extends End, Pick<RequestFinished, "status" | "outcome" | "code"> {}

/** Requests that did not succeed, of one kind. */
export interface RecentFailure extends Pick<End, "by" | "what" | "cause" | "server" | "reason" | "location"> {
  readonly count: number;
  /** None came within the last 10 to 20 s with a failure: others fail now. */
  readonly isFormer?: boolean | undefined;
  /** Present if all are of one site; so are the method and the operation. */
  readonly site?: string | undefined;
  readonly auth?: End["auth"];
  readonly operation?: string | undefined;
}

/** Countersign's own refusals of what a caller sent. */
export function isOfCaller({ by, what }: Pick<RecentFailure, "by" | "what">): boolean {
  return by === "countersign" && isMistake(what);
}

/** How many requests there were, and how many of them failed. */
export interface Counts {
  readonly requests: number;
  readonly failed: number;
}

/** The requests of a site, of which at least one did not succeed. */
export interface FailingSite extends Counts {
  readonly site: string;
}

/** Failures are more than chance from this share and this number on. */
const failingShare = 0.05;
const failingRequests = 2;

export function shareOf({ failed, requests }: Counts): number {
  return requests === 0 ? 0 : failed / requests;
}

export function isMoreThanChance(counts: Counts): boolean {
  return counts.failed >= failingRequests && shareOf(counts) >= failingShare;
}

/** Whether nothing has failed for a while, and requests of the site that failed last have succeeded since. Times are ISO 8601. */
export function seemsOver(lastFailedAt: string | undefined, succeededSince: number, now: string): boolean {
  if (lastFailedAt === undefined) return false;
  return succeededSince >= overAfterSuccesses && Date.parse(now) - Date.parse(lastFailedAt) >= overAfterMs;
}

/** What is known of a site's last minutes; its last answer as ISO 8601. */
interface SiteLately {
  readonly identifier: string;
  readonly auth: readonly AuthMethod[];
  readonly failedLately: number;
  readonly tally: { readonly lastAt?: string | undefined };
}

/** Whether the service has lately accepted the tokens of another site. @param now ISO 8601 */
export function acceptsOthers(
  failing: string | undefined,
  { sites = [], recent }: { readonly sites?: readonly SiteLately[]; readonly recent: { readonly seconds: number } },
  now: string,
): boolean {
  const sinceMs = Date.parse(now) - recent.seconds * 1_000;
  const isFine = ({ identifier, auth, failedLately, tally }: SiteLately) =>
    identifier !== failing &&
    auth.join() === "oauth" &&
    failedLately === 0 &&
    Date.parse(tally.lastAt ?? "") >= sinceMs;
  return failing !== undefined && sites.some(isFine);
}

/** Refusals that did what their caller asked for: no second order was sent. */
const asAsked: ReadonlySet<string | undefined> = new Set<FailureCode>(["already_sent", "once_in_progress"]);

/** The one definition of a failed request, for the status page and `doctor`. */
export function fateOf(event: RequestFinished): Fate {
  const { by, code, status, operationLabel } = event;
  if (hasUnknownEffect(event)) return "unknown";
  const isAnswered = by === "service" && code === undefined && !isFailedByService(by, status, operationLabel);
  if (isAnswered || asAsked.has(code)) return "succeeded";
  return isOfCaller({ by, what: code ?? "" }) ? "mistaken" : "failed";
}

export function describeEnd(
  site: string,
  auth: NonNullable<End["auth"]>,
  operation: string,
  by: End["by"],
  status: number,
  outcome: RequestEnd["outcome"],
  code: RequestEnd["code"],
  fate: Fate,
  details?: Details,
): RequestEnd {
  return { site, auth, operation, by, status, outcome, code, what: code ?? String(status), fate, ...details };
}

/** Anybody can send what names no site of ours. */
const foreign: ReadonlySet<CallbackResult> = new Set(["parameter_missing", "site_unknown"]);

function isFailure({ fate }: End): boolean {
  return fate === "failed" || fate === "unknown";
}

/** Undefined for a callback that is not the service's, as far as one can tell. */
export function describeCallbackEnd(
  site: string,
  result: CallbackResult,
  cause?: string,
  server?: string,
): End | undefined {
  if (foreign.has(result)) return undefined;
  const hasSucceeded = result === "delivered" || result === "repeated";
  const by = hasSucceeded || result === "declined" ? "service" : "countersign";
  return { site, by, what: result, fate: hasSucceeded ? "succeeded" : "failed", cause, server };
}

interface Step {
  /** When its first request ended; monotonic. */
  readonly firstMs: number;
  readonly ends: Map<End, number>;
  /** Counts by the bucket of the duration. */
  readonly durations: number[];
}

/** How the requests of one environment, or the callbacks of one listener, ended in the last five minutes. */
export class RecentRequests {
  /** By the step's number on the monotonic clock. */
  readonly #steps = new Map<number, Step>();
  #lastFailed: { readonly site: string | undefined; readonly atMs: number } | undefined;
  #succeededSince = 0;
  #othersSince = 0;
  /** The sites whose failures no success had ended before the last failure. */
  readonly #failedSites = new Set<string>();
  #failedInRow = 0;

  /**
   * @param end the same object for all requests that end alike
   * @param nowMs monotonic
   */
  add(end: End, durationMs: number, nowMs: number): void {
    const { ends, durations } = this.#stepAt(nowMs);
    const bucket = bucketOf(durationMs / 1_000);
    ends.set(end, (ends.get(end) ?? 0) + 1);
    durations[bucket] = (durations[bucket] ?? 0) + 1;
    if (isFailure(end)) {
      this.#failedInRow = this.#succeededSince === 0 ? this.#failedInRow + 1 : 1;
      if (this.#succeededSince >= overAfterSuccesses) this.#failedSites.clear();
      this.#failedSites.add(end.site);
      this.#lastFailed = { site: siteToSucceed(end.what, end.site), atMs: nowMs };
      this.#succeededSince = 0;
      this.#othersSince = 0;
    } else if (end.fate === "succeeded" && end.contentType === undefined) {
      const site = this.#lastFailed?.site;
      if (site === undefined || site === end.site) this.#succeededSince += 1;
      else if (this.#failedSites.has(end.site)) this.#othersSince += 1;
    }
  }

  /** @param nowMs monotonic */
  view(nowMs: number) {
    // Includes steps without a request, so that each step has its place.
    const all = Array.from({ length: steps }, (_, index) => this.#steps.get(stepOf(nowMs) - steps + 1 + index));
    const ends = all.map((step) => [...(step?.ends ?? [])]);
    const requests = sumOf(ends.flat(), ([, count]) => count);
    const durations = [...answerBuckets, 0].map((_, bucket) => sumOf(all, (step) => step?.durations[bucket] ?? 0));
    const passedMs = nowMs - (all.find((step) => step !== undefined)?.firstMs ?? nowMs);
    return {
      /** The length of this view. */
      seconds: (stepMs * steps) / 1_000,
      requests,
      /** Since the first of these requests ended. */
      perSecond: (requests * 1_000) / Math.max(passedMs, 1_000),
      /** Half of the requests took no longer than this bound. */
      medianMs: quantileMs(durations, 0.5),
      p95Ms: quantileMs(durations, 0.95),
      failures: countFailures(ends),
      /** Monotonic; undefined if none has failed since the start. */
      lastFailedMs: this.#lastFailed?.atMs,
      /** How many have succeeded since the last failure, of its site if that is known. */
      succeededSince: this.#succeededSince,
      /** The same of the other sites that had failed. */
      othersSince: this.#othersSince,
      /** How many failed without a success between them, up to the last failure. */
      failedInRow: this.#failedInRow,
      notJson: countTypes(ends.flat()),
      failingSites: findFailingSites(ends.flat()),
      steps: ends.map((step) => countFates((fate) => sumOf(step, ([end, count]) => (end.fate === fate ? count : 0)))),
    };
  }

  #stepAt(nowMs: number): Step {
    const number = stepOf(nowMs);
    const known = this.#steps.get(number);
    if (known !== undefined) return known;
    for (const old of this.#steps.keys()) if (old <= number - steps) this.#steps.delete(old);
    const step = { firstMs: nowMs, ends: new Map(), durations: [] };
    this.#steps.set(number, step);
    return step;
  }
}

function stepOf(nowMs: number): number {
  return Math.floor(nowMs / stepMs);
}

/** The index of the first bound that is not exceeded; beyond all bounds, their number. */
function bucketOf(seconds: number): number {
  const bucket = answerBuckets.findIndex((bound) => seconds <= bound);
  return bucket === -1 ? answerBuckets.length : bucket;
}

type Counted = readonly (readonly [end: End, count: number])[];

/** What fails now comes first: the commonest of the last steps with a failure, and then those of before. */
function countFailures(all: readonly Counted[]): readonly RecentFailure[] {
  const last = all.findLastIndex((step) => step.some(([end]) => isFailure(end)));
  const now = countKinds(all.slice(Math.max(last - 1, 0)).flat());
  const kinds = countKinds(all.flat());
  const countNow = (kind: string) => now.get(kind)?.count ?? 0;
  return [...kinds]
    .sort(([one, { count }], [other, { count: more }]) => countNow(other) - countNow(one) || more - count)
    .map(([kind, failure]) => (now.has(kind) ? failure : { ...failure, isFormer: true }));
}

function countKinds(ends: Counted): ReadonlyMap<string, RecentFailure> {
  const kinds = new Map<string, RecentFailure>();
  for (const [end, count] of ends) {
    const { by, what, fate, cause, server, location } = end;
    if (fate === "succeeded") continue;
    const kind = `${by} ${what} ${cause} ${server} ${location}`;
    const known = kinds.get(kind) ?? { ...end, count: 0 };
    const common = <Name extends "site" | "auth" | "operation">(name: Name) =>
      known[name] === end[name] ? end[name] : undefined;
    const ofAll = { site: common("site"), auth: common("auth"), operation: common("operation") };
    const reason = end.reason ?? known.reason;
    kinds.set(kind, { by, what, cause, server, reason, location, count: known.count + count, ...ofAll });
  }
  return kinds;
}

/** The media types of answers that are not JSON though their request succeeded, the commonest first. */
function countTypes(all: Counted): readonly { readonly contentType: string; readonly count: number }[] {
  const counts = countBy(
    all,
    ([{ contentType }]) => contentType,
    ([, count]) => count,
  );
  const types = Object.entries(counts).map(([contentType, count]) => ({ contentType, count }));
  return types.sort((one, other) => other.count - one.count);
}

/** Those with most failures first. */
function findFailingSites(all: Counted): readonly FailingSite[] {
  const served = all.filter(([{ fate }]) => fate !== "mistaken");
  const sites = [...groupBy(served, ([{ site }]) => site)].map(([site, ends]) => {
    const requests = sumOf(ends, ([, count]) => count);
    return { site, requests, failed: sumOf(ends, ([{ fate }, count]) => (fate === "succeeded" ? 0 : count)) };
  });
  return sites.filter(({ failed }) => failed > 0).sort((one, other) => other.failed - one.failed);
}

/** The bound that this share of durations does not exceed; undefined without durations, or beyond the last bound. */
function quantileMs(durations: readonly number[], share: number): number | undefined {
  const wanted = sumOf(durations, (count) => count) * share;
  let seen = 0;
  const bucket = durations.findIndex((count) => {
    seen += count;
    return count > 0 && seen >= wanted;
  });
  const seconds = answerBuckets[bucket];
  return seconds && seconds * 1_000;
}
