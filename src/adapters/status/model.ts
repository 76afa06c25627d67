import { type Clock, createWallTime } from "../../model/clock.ts";
import type { CredentialSnapshot } from "../../model/credential-snapshot.ts";
import type { Environment } from "../../model/environment.ts";
import type { Event } from "../../model/events.ts";
import type { RedisSnapshot } from "../../model/redis-access.ts";
import { type CallbackPlace, CallbackStats } from "./callback-stats.ts";
import { CallerStats, type ConfiguredCaller } from "./caller-stats.ts";
import { RequestStats } from "./request-stats.ts";
import { formatTime, type ModelView, type ReloadStatus } from "./snapshot.ts";
import { TokenStats } from "./token-stats.ts";

/** What `/status` asks for when it is looked at: the active configuration, and the state of the process. */
export interface StatusSource {
  environments(): readonly Environment[];
  /** Where each listener leads, one line each. */
  routes(): readonly string[];
  /** Those that have names, in the configuration's order. */
  callers(): readonly ConfiguredCaller[];
  /** Requests being served, by environment. */
  inFlight(): ReadonlyMap<string, number>;
  /** Each set once. */
  credentials(): readonly CredentialSnapshot[];
  redis(): readonly RedisSnapshot[];
}

/** What `/status` and the status page show: counted from the events that metrics and logs are made of, or asked. */
export class StatusModel {
  readonly reload: ReloadStats;
  readonly #source: StatusSource;
  readonly #wallTime;
  readonly #requests: RequestStats;
  readonly #callers: CallerStats;
  readonly #tokens: TokenStats;
  readonly #callbacks: CallbackStats;

  constructor(source: StatusSource, clock: Clock) {
    this.#source = source;
    this.#wallTime = createWallTime(clock);
    this.#requests = new RequestStats(clock);
    this.#callers = new CallerStats(clock);
    this.#tokens = new TokenStats(clock);
    this.#callbacks = new CallbackStats(clock);
    this.reload = new ReloadStats(clock);
  }

  /** Forgets the counts of sites, sets and listeners for callbacks that are not configured. */
  keepOnly(environments: readonly Environment[], callbacks: readonly CallbackPlace[] = []): void {
    this.#callbacks.follow(callbacks);
    this.#requests.keepOnly(environments);
    this.#tokens.keepOnly(environments);
  }

  readonly report = (event: Event): void => {
    switch (event.kind) {
      case "request_finished":
        this.#requests.report(event);
        this.#callers.report(event);
        return;
      case "callback_finished":
        this.#callbacks.report(event);
        return;
      case "token_adopted":
      case "token_requested":
        this.#tokens.report(event);
        return;
      default:
        this.reload.report(event);
    }
  };

  view(): ModelView {
    const { environments, credentials, redis, inFlight, routes } = this.#source;
    const callers = this.#callers.view(this.#source.callers());
    const wallTime = this.#wallTime;
    const sets = this.#tokens.view(credentials(), wallTime);
    const open = [...inFlight().values()].reduce((sum, each) => sum + each, 0);
    return {
      ...this.#requests.view(environments(), sets, open),
      callbacks: this.#callbacks.view(),
      ...(callers.length === 0 ? {} : { callers }),
      credentials: sets,
      redis: redis().map(({ sinceMs, ...server }) => {
        return { ...server, since: sinceMs === undefined ? undefined : formatTime(wallTime(sinceMs)) };
      }),
      reload: this.reload.view(routes()),
    };
  }
}

const keptProblems = 50;

/** Since when the configuration is active and why, and the last one that was refused. */
export class ReloadStats {
  readonly #clock: Clock;
  #activeSinceMs: number | undefined;
  #trigger: ReloadStatus["trigger"] = "start";
  #lastRefused: ReloadStatus["lastRefused"];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** By the wall clock; undefined until the first configuration is active. */
  get activeSinceMs(): number | undefined {
    return this.#activeSinceMs;
  }

  /** What would be loaded is what was refused. */
  get isRefused(): boolean {
    return this.#lastRefused?.isPending === true;
  }

  report(event: Event): void {
    switch (event.kind) {
      case "started":
        this.#activeSinceMs = this.#clock.wallMs();
        return;
      case "config_applied":
        this.#activeSinceMs = this.#clock.wallMs();
        this.#trigger = event.trigger;
        this.#resolve();
        return;
      case "config_unchanged":
        this.#resolve();
        return;
      case "config_refused": {
        const { trigger, problems } = event;
        const kept = { problems: problems.slice(0, keptProblems), problemCount: problems.length };
        this.#lastRefused = { at: formatTime(this.#clock.wallMs()), trigger, ...kept, isPending: true };
        return;
      }
      default:
        return;
    }
  }

  /** @param routes where each listener leads, one line each */
  view(routes: readonly string[]): ReloadStatus {
    const sinceMs = this.#activeSinceMs;
    const inForceSince = sinceMs === undefined ? undefined : formatTime(sinceMs);
    return { inForceSince, trigger: this.#trigger, routes, lastRefused: this.#lastRefused };
  }

  #resolve(): void {
    if (this.#lastRefused !== undefined) this.#lastRefused = { ...this.#lastRefused, isPending: false };
  }
}
