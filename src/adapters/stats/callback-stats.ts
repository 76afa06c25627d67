import type { Clock } from "../../model/clock.ts";
import type { CallbackFinished } from "../../model/events.ts";
import type { Metrics } from "./metrics.ts";
import type { CallbackPlace } from "./source.ts";
import { formatTime, keptOf, occurrences, sumOf } from "./sums.ts";

export type CallbackStatus = ReturnType<ReturnType<typeof createCallbackStats>["view"]>[number];
export type CallbackFailureStatus = ReturnType<typeof describeFailure>;

interface CallbackListener {
  readonly place: CallbackPlace;
  /** The last that was neither delivered nor repeated. */
  readonly lastFailure?: CallbackFailureStatus | undefined;
}

/** What came of callbacks, by the listener that they came to. */
export function createCallbackStats({ callbacks, callbacksUnguarded }: Metrics, clock: Clock) {
  /** One for each listener that is configured. */
  let listeners: readonly CallbackListener[] = [];

  return {
    /** From now on these are configured. What came to another place, or was for another application, is forgotten. */
    follow(places: readonly CallbackPlace[]): void {
      const staying = listeners.filter((known) => places.some((place) => isSame(known.place, place)));
      for (const counter of [callbacks, callbacksUnguarded]) {
        counter.keepOnly((labels) => staying.some(({ place }) => isAt(place, labels)));
      }
      listeners = places.map((place) => staying.find((known) => isSame(known.place, place)) ?? { place });
    },

    report(event: CallbackFinished): void {
      if (event.result === "delivered" || event.result === "repeated") return;
      const lastFailure = describeFailure(event, formatTime(clock.wallMs()));
      listeners = listeners.map((each) => (isAt(each.place, event) ? { ...each, lastFailure } : each));
    },

    view() {
      return listeners.map(({ place, lastFailure }) => {
        const results = callbacks.kept().filter(({ labels }) => isAt(place, labels));
        const unguarded = callbacksUnguarded.kept().filter(({ labels }) => isAt(place, labels));
        return {
          ...place,
          /** By CallbackResult. */
          results: occurrences(results, ({ labels: { result } }) => result),
          /** Those that the application may get twice, since the store of replays failed. */
          unguarded: sumOf(unguarded, keptOf),
          lastFailure,
        };
      });
    },
  };
}

/** A callback that the application has not taken; `cause` where it says more than the result. Nothing of its content. */
function describeFailure({ result, status, cause, site, requestId }: CallbackFinished, at: string) {
  return { at, result, status, cause: cause === result ? undefined : cause, site, requestId };
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
