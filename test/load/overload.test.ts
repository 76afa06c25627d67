import { expect, it } from "vitest";
import { type Measured, measure } from "../../bench/overload/measure.ts";
import { judge } from "../../bench/overload/verdict.ts";

// The short form of `npm run bench:overload`; figures are asserted in test/load/sheds-what-is-too-much.test.ts.

it("serves what it can at ten times the load, refuses the rest, and sends nothing of that", async () => {
  const options = { inFlight: 8, serviceMs: 100, seconds: 1, json: false };
  const seen: Measured[] = [];
  const all = await measure(options, (measured) => seen.push(measured));
  expect(seen).toEqual(all);
  expect(all.map(({ times }) => times)).toEqual([undefined, 1, 2, 10]);
  expect(all.flatMap(({ strange }) => strange)).toEqual([]);
  expect(all.map(({ served }) => served)).toEqual(all.map(({ created }) => created));
  const [peak, , , tenfold] = all;
  expect(peak?.refusedMs).toEqual([]);
  expect(tenfold?.served).toBeGreaterThan(0);
  expect(tenfold?.refusedMs.length).toBeGreaterThan(tenfold?.served ?? 0);
});

const peak: Measured = {
  times: undefined,
  offeredPerSecond: 160,
  goodputPerSecond: 160,
  served: 320,
  created: 320,
  servedMs: [200],
  refusedMs: [],
  strange: [],
  stoodStillMs: 1,
  liveMs: [1],
};
const twofold: Measured = { ...peak, times: 2, goodputPerSecond: 144, refusedMs: [10] };
const tenfold: Measured = { ...twofold, times: 10, liveMs: [100] };

it.each<[what: string, all: Measured[], missed: number]>([
  ["all is well", [peak, twofold, tenfold], 0],
  ["too little served at 2 times the peak", [peak, { ...twofold, goodputPerSecond: 143 }, tenfold], 1],
  ["too little served at 10 times the peak", [peak, twofold, { ...tenfold, goodputPerSecond: 143 }], 1],
  ["slow refusals", [peak, twofold, { ...tenfold, refusedMs: [11] }], 1],
  ["no refusals", [peak, { ...twofold, refusedMs: [] }, { ...tenfold, refusedMs: [] }], 1],
  ["/livez late", [peak, twofold, { ...tenfold, liveMs: [101] }], 1],
  ["a strange answer", [peak, twofold, { ...tenfold, strange: ["1 × status 500"] }], 1],
  ["a refused order that was sent", [peak, twofold, { ...tenfold, created: 321 }], 1],
  ["nothing to judge by", [], 6],
])("the bench's verdict: %s", (_, all, missed) => {
  expect(judge(all).filter(({ isReached }) => !isReached)).toHaveLength(missed);
});
