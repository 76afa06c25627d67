import type { Target } from "../table.ts";
import type { Measured } from "./measure.ts";
import { percentile } from "./stretch.ts";

const leastShare = 0.9;
const longestRefusalMs = 10;
const longestLiveMs = 100;

/** The goodput as a share of the peak, which is measured first. */
export function shareOfPeak({ goodputPerSecond }: Measured, [peak]: readonly Measured[]): number {
  return goodputPerSecond / (peak?.goodputPerSecond ?? Number.NaN);
}

/** Judges the stretches; a target without a measurement is not reached. */
export function judge(all: readonly Measured[]): Target[] {
  const refusals = all.flatMap(({ refusedMs }) => refusedMs);
  const refusalMs = percentile(refusals, 0.99);
  const liveMs = Math.max(...all.flatMap((each) => each.liveMs));
  const strange = all.flatMap((each) => each.strange);
  return [
    ...[2, 10].map((times) => judgeGoodput(times, all)),
    {
      what: "time to a refusal, p99",
      wanted: `at most ${longestRefusalMs} ms`,
      measured: `${refusalMs.toFixed(1)} ms of ${refusals.length}`,
      isReached: refusalMs <= longestRefusalMs,
    },
    {
      what: "/livez, the slowest",
      wanted: `at most ${longestLiveMs} ms`,
      measured: `${liveMs.toFixed(1)} ms`,
      isReached: liveMs >= 0 && liveMs <= longestLiveMs,
    },
    {
      what: "answers other than an order or a refusal with Retry-After",
      wanted: "0",
      measured: strange.length === 0 ? "0" : strange.join(", "),
      isReached: all.length > 0 && strange.length === 0,
    },
    judgeSent(all),
  ];
}

function judgeGoodput(times: number, all: readonly Measured[]): Target {
  const stretch = all.find((each) => each.times === times);
  const share = stretch === undefined ? Number.NaN : shareOfPeak(stretch, all);
  return {
    what: `goodput at ${times} times the peak`,
    wanted: `at least ${100 * leastShare} %`,
    measured: `${(100 * share).toFixed(1)} %`,
    isReached: share >= leastShare,
  };
}

/** No refused order was sent. */
function judgeSent(all: readonly Measured[]): Target {
  const served = all.reduce((sum, each) => sum + each.served, 0);
  const created = all.reduce((sum, each) => sum + each.created, 0);
  return {
    what: "orders that the service has created",
    wanted: "as many as were served",
    measured: `${created} of ${served}`,
    isReached: served > 0 && created === served,
  };
}
