import type { CallbackFinished, CallbackResult } from "../../model/callback-events.ts";
import type { Clock } from "../../model/clock.ts";
import { type CallbackFailureStatus, type CallbackStatus, formatTime, type Occurrence } from "./snapshot.ts";

/** Where callbacks come in, and the application that they go to. */
export type CallbackPlace = Pick<CallbackStatus, "environment" | "listener" | "application">;

/** What came of callbacks, by the listener that they came to. */
export class CallbackStats {
  readonly #clock: Clock;
  /** One for each listener that is configured. */
  #listeners: readonly ListenerStats[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** From now on these are configured. What came to another place, or was for another application, is forgotten. */
  follow(places: readonly CallbackPlace[]): void {
    const known = this.#listeners;
    this.#listeners = places.map((place) => known.find((each) => each.isFor(place)) ?? new ListenerStats(place));
  }

  report(event: CallbackFinished): void {
    const wallMs = this.#clock.wallMs();
    const { environment, listener } = event;
    const found = this.#listeners.find(({ place }) => place.environment === environment && place.listener === listener);
    found?.add(event, wallMs);
  }

  view(): CallbackStatus[] {
    return this.#listeners.map((listener) => listener.view());
  }
}

class ListenerStats {
  readonly place: CallbackPlace;
  readonly #results: Partial<Record<CallbackResult, { count: number; lastMs: number }>> = {};
  #unguarded = 0;
  #last: { readonly result: CallbackResult; readonly wallMs: number } | undefined;
  #lastFailure: { readonly event: CallbackFinished; readonly wallMs: number } | undefined;

  constructor(place: CallbackPlace) {
    this.place = place;
  }

  isFor({ environment, listener, application }: CallbackPlace): boolean {
    const { place } = this;
    return place.environment === environment && place.listener === listener && place.application === application;
  }

  add(event: CallbackFinished, wallMs: number): void {
    const { result } = event;
    this.#results[result] = { count: (this.#results[result]?.count ?? 0) + 1, lastMs: wallMs };
    this.#last = { result, wallMs };
    if (event.isGuarded === false) this.#unguarded += 1;
    if (result !== "delivered" && result !== "repeated") this.#lastFailure = { event, wallMs };
  }

  /** Times are written out when they are looked at. */
  view(): CallbackStatus {
    const results = Object.entries(this.#results).map(([result, { count, lastMs }]): [string, Occurrence] => {
      return [result, { count, lastAt: formatTime(lastMs) }];
    });
    const last = this.#last && { at: formatTime(this.#last.wallMs), result: this.#last.result };
    return {
      ...this.place,
      results: Object.fromEntries(results),
      unguarded: this.#unguarded,
      last,
      lastFailure: this.#viewFailure(),
    };
  }

  #viewFailure(): CallbackFailureStatus | undefined {
    if (this.#lastFailure === undefined) return undefined;
    const { event, wallMs } = this.#lastFailure;
    const { result, status, cause, site, requestId } = event;
    return { at: formatTime(wallMs), result, status, cause: cause === result ? undefined : cause, site, requestId };
  }
}
