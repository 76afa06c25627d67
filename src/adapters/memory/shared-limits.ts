import type { Clock } from "../../model/clock.ts";
import { ForcedRefreshLog } from "../../oauth/forced-refresh-log.ts";
import {
  type EndpointPause,
  type LimitEvent,
  type LimitsSnapshot,
  sitePauseMemoryMs,
} from "../../oauth/shared-limits.ts";

/** The limits that the sources of one credential set keep together within one process. */
export class MemorySharedLimits {
  readonly #clock: Clock;
  readonly #log: ForcedRefreshLog;
  /** Bounded by the configured sites. */
  readonly #sites = new Map<string, { readonly pauseMs: number; readonly untilMs: number }>();
  #endpoint: { readonly pause: EndpointPause; readonly atMs: number; readonly untilMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#log = new ForcedRefreshLog(clock);
  }

  /** Nothing is left to read. */
  isOver(): boolean {
    const { endpoint, sites, facts } = this.read();
    return endpoint === undefined && sites.size === 0 && facts.length === 0;
  }

  read(): LimitsSnapshot {
    const nowMs = this.#clock.nowMs();
    for (const [site, { untilMs }] of this.#sites) {
      if (untilMs + sitePauseMemoryMs <= nowMs) this.#sites.delete(site);
    }
    const sites = [...this.#sites].map(
      ([site, { pauseMs, untilMs }]) => [site, { pauseMs, remainingMs: Math.max(0, untilMs - nowMs) }] as const,
    );
    return { endpoint: this.#readEndpoint(nowMs), sites: new Map(sites), facts: this.#log.facts() };
  }

  #readEndpoint(nowMs: number): LimitsSnapshot["endpoint"] {
    if (this.#endpoint === undefined || this.#endpoint.untilMs <= nowMs) return undefined;
    const { pause, atMs, untilMs } = this.#endpoint;
    return { ...pause, remainingMs: untilMs - nowMs, ageMs: nowMs - atMs };
  }

  /** The authorization server has issued a token to a request that began at the moment given. */
  endPause(issuedAtMs: number): void {
    if (this.#endpoint !== undefined && this.#endpoint.atMs <= issuedAtMs) this.#endpoint = undefined;
  }

  record(event: LimitEvent): void {
    const nowMs = this.#clock.nowMs();
    if (event.kind === "endpoint_paused") {
      const { pause } = event;
      const untilMs = nowMs + pause.remainingMs;
      if (this.#endpoint === undefined || this.#endpoint.untilMs < untilMs) {
        this.#endpoint = { pause, atMs: nowMs, untilMs };
      }
      return;
    }
    const isNews = this.#log.add(event);
    if (event.kind === "accepted" || event.kind === "recovered") this.#sites.delete(event.site);
    if (event.kind === "failed" && isNews && event.pauseMs > 0) {
      this.#sites.set(event.site, { pauseMs: event.pauseMs, untilMs: nowMs + event.pauseMs });
    }
  }
}
