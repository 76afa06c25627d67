/**
 * Requests beyond a limit get 503 `overloaded` at once, and requests within it are served as usual; also in the short form of
 * `npm run bench:overload`, whose figures are not asserted.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { expect, it } from "vitest";
import { type Measured, measure } from "../../bench/overload/measure.ts";
import { percentile } from "../../bench/overload/stretch.ts";
import { judge } from "../../bench/overload/verdict.ts";
import { call } from "../../testkit/call.ts";
import { keepAlive } from "../../testkit/keep-alive.ts";
import { RawConnection, rawPost, readAnswers } from "../../testkit/raw-caller.ts";
import { countRound } from "../../testkit/replays.ts";
import { print } from "../fleet/redis/load.ts";
import { startServed } from "./served.ts";
import { load, slowestProbeMs } from "./steady-load.ts";

const inFlight = 4;
const answerMs = 100;
/** The most orders per second that the service can answer. */
const mostPerSecond = (inFlight * 1_000) / answerMs;
const lastsMs = 4_000;
/** Ten times what is promised. */
const refusedMs = 100;
const liveMs = 1_000;
const rounds = 4;

it("keeps nine tenths of its goodput under twice and ten times the load that it can serve", async () => {
  const served = await startServed({ answerMs, more: `limits: { inFlightPerEnvironment: ${inFlight} }` });
  const agent = keepAlive();
  let orders = 0;
  const loadTimes = async (times: number) => {
    const stretch = await load(served.url, { perSecond: times * mostPerSecond, lastsMs, agent });
    orders += stretch.served;
    return stretch;
  };
  // Until code is compiled and connections are made.
  await loadTimes(1);
  const peak = await loadTimes(1);
  expect(peak.strange).toEqual([]);
  for (const times of [2, 10]) {
    const { goodput, strange, longestLiveMs, ...stretch } = await undisturbed(async () => {
      const loading = loadTimes(times);
      const longestLiveMs = await slowestProbeMs(served.adminUrl, loading, 50);
      return { ...(await loading), longestLiveMs };
    });
    const refusedP99Ms = percentile(stretch.refusedMs, 0.99);
    print(`at ${times} times the load`, { peak: peak.goodput, goodput, refusedP99Ms, longestLiveMs });
    expect(strange).toEqual([]);
    expect(goodput).toBeGreaterThanOrEqual(0.9 * peak.goodput);
    expect(refusedP99Ms).toBeGreaterThan(0);
    expect(refusedP99Ms).toBeLessThan(refusedMs);
    expect(longestLiveMs).toBeLessThan(liveMs);
  }
  // No refused order was sent.
  expect(served.upstream.requests).toHaveLength(orders);
});

it("refuses the request beyond 256 in flight at once, and serves those within", async () => {
  const most = 256;
  const served = await startServed({ answerMs: 3_000 });
  const within = Array.from({ length: most }, () => call(served.url));
  await served.upstream.whenRequests(most);
  const sinceMs = performance.now();
  const beyond = await call(served.url);
  expect(performance.now() - sinceMs).toBeLessThan(10 * refusedMs);
  expect(beyond).toMatchObject({ status: 503, json: { code: "overloaded", outcome: "not_sent" } });
  expect(Number(beyond.headers["retry-after"])).toBeGreaterThanOrEqual(1);
  expect(new Set((await Promise.all(within)).map(({ status }) => status))).toEqual(new Set([200]));
  expect(served.upstream.requests).toHaveLength(most);
});

it("refuses the connection beyond 1,024 at once, and serves those within", async () => {
  const most = 1_024;
  // All connections have an order under way: one that waits for its caller would be closed for a new one.
  const answerMs = (n: number) => (n <= most ? 8_000 : 0);
  const served = await startServed({ answerMs, more: `limits: { inFlightPerEnvironment: ${most} }` });
  const within = await Promise.all(Array.from({ length: most }, () => RawConnection.open(served.port)));
  for (const connection of within) connection.write(rawPost());
  await served.upstream.whenRequests(most);
  const sinceMs = performance.now();
  const beyond = await RawConnection.open(served.port);
  const [refused] = readAnswers(await beyond.write(rawPost()).ended());
  expect(refused).toMatchObject({ status: 503, headers: { "countersign-error": "overloaded" } });
  expect(Number(refused?.headers["retry-after"])).toBeGreaterThanOrEqual(1);
  expect(performance.now() - sinceMs).toBeLessThan(10 * refusedMs);
  expect(served.upstream.requests).toHaveLength(most);
  for (const connection of [within[0], within[511], within[1_023]]) {
    const [answer] = readAnswers((await connection?.ended()) ?? "");
    expect(answer?.status).toBe(200);
  }
  // One connection has gone, so a new one is accepted.
  const next = await RawConnection.open(served.port);
  expect(readAnswers(await next.write(rawPost()).ended())[0]?.status).toBe(200);
});

it("at ten times the load the bench's proxy serves as much as it can, refuses the rest, and sends nothing of the rest", async () => {
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

/** If this process itself stalled, a stretch says nothing about the proxy: it is played again. */
async function undisturbed<Result>(play: () => Promise<Result>): Promise<Result> {
  for (let round = 1; ; round++) {
    countRound(round > 1);
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const result = await play();
    delay.disable();
    const stillMs = delay.max / 1e6;
    if (stillMs < refusedMs / 2 || round === rounds) return result;
    print(`round ${round}: the caller itself stood still; once more`, { forMs: stillMs });
  }
}
