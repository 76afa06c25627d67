/** Row 7: who sends a head or a body drop by drop gets 408 in the end, and meanwhile everybody else is served as ever. */
import { Agent } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { call } from "../../testkit/call.ts";
import { RawConnection, rawPost, readAnswers } from "../../testkit/raw-caller.ts";
import { print } from "../fleet/redis/load.ts";
import { p99Of, startServed } from "./served.ts";

const callersEach = 100;
const samples = 1_000;
/** Ten times the growth that is promised, and what a shared machine needs. */
const p99Growth = 2;
const slackMs = 10;
const dropEveryMs = 500;

const whole = rawPost();
const headEnd = whole.indexOf("\r\n\r\n");

/** Sends these bytes at once and then a drop now and again, until it is answered. */
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

it("cuts slow heads off after 10 s and slow bodies after 15 s, and serves the others", async () => {
  const served = await startServed();
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  await p99Of(served, agent, samples);
  const before = await p99Of(served, agent, samples);
  const slowHeads = Array.from({ length: callersEach }, () => drip(served.port, whole.slice(0, headEnd), "\r\nX: 1"));
  const slowBodies = Array.from({ length: callersEach }, () =>
    drip(served.port, rawPost({ framing: ["Content-Length: 1000"], body: "{" }), " "),
  );
  const during = await p99Of(served, agent, samples);
  print("p99 in ms", { before, during });
  expect(during).toBeLessThan(p99Growth * before + slackMs);

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
