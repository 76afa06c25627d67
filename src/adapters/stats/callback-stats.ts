import type { Clock } from "../../model/clock.ts";
import type { CallbackFinished } from "../../model/events.ts";
import type { Metrics } from "./metrics.ts";
import { type CallbackStatus, formatTime } from "./snapshot.ts";
import { keptOf, occurrences, sumOf } from "./sums.ts";

/** Where callbacks come in, and the application that they go to. */
export type CallbackPlace = Pick<CallbackStatus, "environment" | "listener" | "application">;

interface CallbackListener extends Pick<CallbackStatus, "lastFailure"> {
  readonly place: CallbackPlace;
}

/** What came of callbacks, by the listener that they came to. */
export class CallbackStats {
  readonly #metrics: Pick<Metrics, "callbacks" | "callbacksUnguarded">;
  readonly #clock: Clock;
  /** One for each listener that is configured. */
  #listeners: readonly CallbackListener[] = [];

  constructor(metrics: Pick<Metrics, "callbacks" | "callbacksUnguarded">, clock: Clock) {
    this.#metrics = metrics;
    this.#clock = clock;
  }

  /** From now on these are configured. What came to another place, or was for another application, is forgotten. */
  follow(places: readonly CallbackPlace[]): void {
    const staying = this.#listeners.filter((known) => places.some((place) => isSame(known.place, place)));
    const { callbacks, callbacksUnguarded } = this.#metrics;
    for (const counter of [callbacks, callbacksUnguarded]) {
      counter.keepOnly((labels) => staying.some(({ place }) => isAt(place, labels)));
    }
    const knownAt = (place: CallbackPlace) => staying.find((known) => isSame(known.place, place));
    this.#listeners = places.map((place) => knownAt(place) ?? { place, lastFailure: undefined });
  }

  report(event: CallbackFinished): void {
    const { result, status, cause, site, requestId } = event;
    if (result === "delivered" || result === "repeated") return;
    const at = formatTime(this.#clock.wallMs());
    const lastFailure = { at, result, status, cause: cause === result ? undefined : cause, site, requestId };
    this.#listeners = this.#listeners.map((each) => (isAt(each.place, event) ? { ...each, lastFailure } : each));
  }

  view(): CallbackStatus[] {
    return this.#listeners.map(({ place, lastFailure }) => {
      const { callbacks, callbacksUnguarded } = this.#metrics;
      const results = callbacks.kept().filter(({ labels }) => isAt(place, labels));
      const unguarded = callbacksUnguarded.kept().filter(({ labels }) => isAt(place, labels));
      return {
        ...place,
        results: occurrences(results, ({ labels: { result } }) => result),
        unguarded: sumOf(unguarded, keptOf),
        lastFailure,
      };
    });
  }
}

function isAt(
  place: CallbackPlace,
  { environment, listener }: { readonly environment: string; readonly listener?: string | undefined },
): boolean {
  return place.environment === environment && place.listener === listener;
}

function isSame(one: CallbackPlace, other: CallbackPlace): boolean {
  return isAt(one, other) && one.application === other.application;
}
