import type { ConfiguredSet } from "../../app/token-sources.ts";
import type { Upstreams } from "../../app/upstreams.ts";
import type { Config } from "../../config/config.ts";
import type { Warning } from "../../config/diagnostics.ts";
import { type Clock, within } from "../../model/clock.ts";
import type { cacheResults } from "../../model/events.ts";
import type { EndpointPause, StoredToken, TokenStore } from "../../oauth/token-store.ts";
import type { OneRequest } from "../serve-one.ts";

/** `skipped`: there is nothing to check, or another check that this one depends on has failed. */
export type Verdict = "ok" | "warn" | "fail" | "skipped";

/** The result of a check. Foreign text in it has been through `printable` of terminal.ts. */
export interface CheckResult {
  readonly verdict: Verdict;
  /** The finding, as a clause. */
  readonly detail: string;
  /** What to do about the finding; always present with `warn` and `fail`. A path such as `docs/redis.md` is shown as its address. */
  readonly fix?: string;
  /** Present if the service answered a real request; `key` is the K… of the key that signed the request. */
  readonly answered?: { readonly key: string | undefined };
}

/** What a check is about. */
interface Subject {
  /** `dns`, `tls`, `token`, `redis`, … */
  readonly topic: string;
  /** Absent if the check concerns all environments. */
  readonly environment?: string | undefined;
  /** A host, a credential set, a server, a prefix. */
  readonly subject: string;
}

/** One line of the report. */
export interface Check extends Subject, CheckResult {
  /** 0 if the check waited for nothing. */
  readonly tookMs: number;
}

export const ok = (detail: string): CheckResult => ({ verdict: "ok", detail });
export const warn = (detail: string, fix: string): CheckResult => ({ verdict: "warn", detail, fix });
export const fail = (detail: string, fix: string): CheckResult => ({ verdict: "fail", detail, fix });
export const skip = (detail: string): CheckResult => ({ verdict: "skipped", detail });

/** One run of the doctor: its configuration, its options and its deadline. */
export interface Run {
  readonly file: string;
  readonly config: Config;
  readonly warnings: readonly Warning[];
  /** Whether a token may be requested. */
  readonly withToken: boolean;
  /** Whether every credential set is checked, and not only a sample. */
  readonly allTokens: boolean;
  readonly clock: Clock;
  /** Monotonic. No check waits longer. */
  readonly deadlineMs: number;
  /** A real request to send, which the operator has chosen. */
  readonly chosen?: OneRequest | undefined;
}

/** A credential set, and the state that replicas share about it. */
export interface SharedSet extends ConfiguredSet {
  /** As in `token_cache_read`; always `miss` with the cache in memory, since another process cannot read that. */
  readonly read: (typeof cacheResults)[number];
  readonly token: StoredToken | undefined;
  /** How long the authorization server gets no request, because of its last answer. */
  readonly backoff: EndpointPause | undefined;
}

/** A run with the connections and the token cache that `serve` has. */
export interface OpenRun extends Run {
  readonly upstreams: Upstreams;
  /** The token cache. */
  readonly store: TokenStore;
  /** Each set once, however many sites share it. */
  readonly sets: readonly SharedSet[];
  /** The checks of Redis, made first: other checks would disturb the measurement. */
  readonly redis: readonly Check[];
  /** The lines above. */
  readonly done: readonly Check[];
}

/** @param tookMs 0 if the check waited for nothing */
export function toCheck(about: Subject, result: CheckResult, tookMs = 0): Check {
  return { ...about, ...result, tookMs };
}

/** The longest run, below the usual deadlines of probes and scripts. */
export const runMs = 28_000;

/** The limit, or the rest of the run if that is less. */
export function boundMs({ deadlineMs, clock }: Pick<Run, "deadlineMs" | "clock">, limitMs: number): number {
  return Math.min(limitMs, deadlineMs - clock.nowMs());
}

/** The promise's value; undefined if it takes longer than the limit or the run. The promise itself is not cancelled. */
export function withinRun<Value>(run: Run, promise: Promise<Value>, limitMs: number): Promise<Value | undefined> {
  return within(run.clock, promise, boundMs(run, limitMs));
}

/** Runs a check and measures its duration. */
export async function timed({ clock }: Run, about: Subject, evaluate: () => Promise<CheckResult>): Promise<Check> {
  const sinceMs = clock.nowMs();
  const result = await evaluate();
  return toCheck(about, result, Math.round(clock.nowMs() - sinceMs));
}
