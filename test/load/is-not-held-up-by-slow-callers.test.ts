/**
 * A caller that sends a head or a body drop by drop finally gets 408, and meanwhile all others are served as usual. Slow
 * bodies take no place and little memory, however many one caller sends, again and again.
 */
import { once } from "node:events";
import { expect, it } from "vitest";
import { percentile } from "../../bench/overload/stretch.ts";
import { call } from "../../testkit/call.ts";
import { keepAlive } from "../../testkit/keep-alive.ts";
import { RawConnection, rawPost, readAnswers } from "../../testkit/raw-caller.ts";
import { print } from "../fleet/redis/load.ts";
import { type ServedOptions, startServed } from "./served.ts";

const samples = 1_000;

const callersEach = 100;
const dropEveryMs = 500;

const whole = rawPost();
const headEnd = whole.indexOf("\r\n\r\n");

it("cuts slow heads off after 10 s and slow bodies after 15 s, and serves the others", async () => {
  const { served, p99, before } = await stage();
  const slowHeads = Array.from({ length: callersEach }, () => drip(served.port, whole.slice(0, headEnd), "\r\nX: 1"));
  const slowBodies = Array.from({ length: callersEach }, () =>
    drip(served.port, rawPost({ framing: ["Content-Length: 1000"], body: "{" }), " "),
  );
  const during = await p99();
  print("p99 in ms", { before, during });
  // Ten times the promised growth, and 10 ms for a shared machine.
  expect(during).toBeLessThan(2 * before + 10);

  for (const { status, afterMs } of await Promise.all(slowHeads)) {
    expect(status).toBe(408);
    expect(afterMs).toBeGreaterThan(9_900);
    expect(afterMs).toBeLessThan(20_000);
  }
  for (const { status, afterMs } of await Promise.all(slowBodies)) {
    expect(status).toBe(408);
    expect(afterMs).toBeGreaterThan(14_900);
    expect(afterMs).toBeLessThan(25_000);
  }
  expect(served.upstream.requests).toHaveLength(3 * samples);
  expect((await call(served.url)).status).toBe(200);
});

/** As many slow callers as there are places. */
const slowCallers = 256;
const slowBytes = 250_000;
const bufferedBytes = 33_554_432;

it("serves every order while 256 slow bodies come again and again", async () => {
  const { served, p99, before } = await stage({ more: `limits: { bufferedBytes: ${bufferedBytes} }` });
  const over = new AbortController();
  const ended = once(over.signal, "abort").then(() => "over");
  const refusals = new Set<string>();
  const begun = rawPost({ framing: [`Content-Length: ${slowBytes}`], body: "{" });
  const keepSending = async () => {
    while (!over.signal.aborted) {
      const connection = await RawConnection.open(served.port);
      const text = await Promise.race([connection.write(begun).ended(), ended]);
      refusals.add(/^HTTP\/1\.1 (\d+)[\s\S]*"outcome":"not_sent"/.exec(text)?.[1] ?? text);
      await connection.leave();
    }
  };
  const slow = Promise.all(Array.from({ length: slowCallers }, keepSending));
  const [during, more] = [await p99(), await p99()];
  print("p99 in ms", { before, during, more });
  over.abort();
  await slow;
  // Far longer than usual, and far shorter than the 15 s that a body may take.
  expect(Math.max(during, more)).toBeLessThan(10 * before + 100);
  // Slow callers that lost their place got 503; nothing of their requests was sent.
  expect([...refusals].filter((status) => status !== "over")).toEqual(["503"]);
  expect(served.upstream.requests).toHaveLength(4 * samples);
});

/** A process that is warmed up, and a measurement of the 99th percentile, in ms, of many orders in turn; each must be served. */
async function stage(options: ServedOptions = {}) {
  const served = await startServed(options);
  const agent = keepAlive();
  const p99 = async () => {
    const times: number[] = [];
    for (let n = 0; n < samples; n++) {
      const sentMs = performance.now();
      expect((await call(served.url, undefined, { agent })).status).toBe(200);
      times.push(performance.now() - sentMs);
    }
    return percentile(times, 0.99);
  };
  await p99();
  return { served, p99, before: await p99() };
}

/** Sends these bytes at once and then a drop at intervals, until there is an answer. */
async function drip(
  port: number,
  bytes: string,
  drop: string,
): Promise<{ status: number | undefined; afterMs: number }> {
  const connection = await RawConnection.open(port);
  const sinceMs = performance.now();
  connection.write(bytes);
  const timer = setInterval(() => connection.write(drop), dropEveryMs);
  try {
    const text = await connection.until(/\r\n\r\n.*\}\n?$/s);
    return { status: readAnswers(text)[0]?.status, afterMs: performance.now() - sinceMs };
  } finally {
    clearInterval(timer);
  }
}
