/**
 * In one process: 64 hostile bodies of 256 KiB at once. Promised: event-loop p99 delay of 50 ms at most
 * and 30 times their size in memory; on shared cores, with the callers in the same process, ten times the delay.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { expect, it } from "vitest";
import { call } from "../../testkit/call.ts";
import { hmacSite, stage } from "../../testkit/stage.ts";

const size = 262_144;
const fill = (open: string, piece: string, close: string) =>
  open + piece.repeat(Math.floor((size - open.length - close.length) / piece.length)) + close;
const hostile = [
  fill("", "[", ""),
  fill('{"a":', "[", ""),
  fill('{"a":"', "\\u0041", '"}'),
  fill('{"a":', "9", "}"),
  fill('{"a":1e', "9", "}"),
  fill('{"a_amount":"', "0", '"}'),
  fill("{", " ", "}"),
  fill('{"a":1', ',"a":1', "}"),
];

it("keeps the event loop turning and its memory bounded, and serves the next request", async () => {
  const { url, simulator } = await stage();
  await call(url);
  const delay = monitorEventLoopDelay({ resolution: 5 });
  const before = process.memoryUsage().rss;
  delay.enable();
  const bodies = Array.from({ length: 64 }, (_, index) => hostile[index % hostile.length] ?? "");
  const headers = { "Countersign-Site": hmacSite };
  const answers = await Promise.all(bodies.map((body) => call(url, body, { headers })));
  delay.disable();
  const grown = process.memoryUsage().rss - before;
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 400, 422]));
  expect(delay.percentile(99) / 1e6).toBeLessThan(500);
  expect(grown).toBeLessThan(64 * size * 30);
  expect((await call(url)).status).toBe(200);
  // The first and the last order, and those of the 64 that were long but valid.
  const sound = answers.filter(({ status }) => status === 200).length;
  expect(simulator.counts().apiRequests).toBe(2 + sound);
});
