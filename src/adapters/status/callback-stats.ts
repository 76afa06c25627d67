import type { CallbackFinished, CallbackResult } from "../../model/callback-events.ts";
import type { Clock } from "../../model/clock.ts";
import { Occurrences } from "./counters.ts";
import { type CallbackFailureStatus, type CallbackStatus, formatTime } from "./snapshot.ts";

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
  readonly #results = new Occurrences();
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
    this.#results.add(result, wallMs);
    this.#last = { result, wallMs };
    if (event.isGuarded === false) this.#unguarded += 1;
    if (result !== "delivered" && result !== "repeated") this.#lastFailure = { event, wallMs };
  }

  view(): CallbackStatus {
    const last = this.#last && { at: formatTime(this.#last.wallMs), result: this.#last.result };
    return {
      ...this.place,
      results: this.#results.view(),
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
