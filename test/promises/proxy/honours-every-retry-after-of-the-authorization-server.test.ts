/** Row 34: 429 with every kind of Retry-After; 1 s to 24 h honoured, 0 is 1 s, huge is 24 h, the rest is back-off. */
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { stageLiving } from "../../../testkit/living-stage.ts";

const dayMs = 86_400_000;
const inAMinute = () => new Date(Date.now() + 60_000).toUTCString();
/** With chance at a half, after six steps: half of 50 ms * 2^6. */
const backoffMs = 1_600;

it.each([
  ["seconds", () => "7", 7_000, 7_000],
  ["one second", () => "1", 1_000, 1_000],
  ["zero", () => "0", 1_000, 1_000],
  ["a day and more", () => "86401", dayMs, dayMs],
  ["beyond all numbers", () => "9".repeat(400), dayMs, dayMs],
  ["a date", inAMinute, 57_000, 61_000],
  ["a date in the past", () => "Tue, 02 Jan 2024 03:04:05 GMT", 1_000, 1_000],
  ["a date in a century", () => "Fri, 02 Jan 2126 03:04:05 GMT", dayMs, dayMs],
  ["negative", () => "-5", backoffMs, backoffMs],
  ["a fraction", () => "1.5", backoffMs, backoffMs],
  ["a word", () => "soon", backoffMs, backoffMs],
  ["empty", () => "", backoffMs, backoffMs],
  ["absent", () => undefined, backoffMs, backoffMs],
])("429 with Retry-After: %s", async (_name, retryAfter, leastMs, mostMs) => {
  const { url, simulator, recorder, clock, expire } = await stageLiving();
  const value = retryAfter();
  const headers: Record<string, string> = value === undefined ? {} : { "Retry-After": value };
  simulator.faults.add({ host: "login", kind: "answer", status: 429, headers, times: "until_cleared" });
  expire();
  const answer = await call(url);
  expect(answer.json).toMatchObject({ status: 503, code: "token_unavailable", outcome: "not_sent" });
  const { pauseMs = 0, result } = await recorder.nth("token_requested", 2);
  expect(result).toBe("throttled");
  expect(pauseMs).toBeGreaterThan(leastMs - 100);
  expect(pauseMs).toBeLessThan(mostMs + 100);
  const told = Number(answer.headers["retry-after"]);
  expect(told).toBeGreaterThanOrEqual(Math.floor(leastMs / 1_000));
  expect(told).toBeLessThanOrEqual(Math.ceil(mostMs / 1_000));

  clock.push(pauseMs - 700);
  for (let n = 0; n < 2; n++) expect((await call(url)).status).toBe(503);
  expect(simulator.counts()).toMatchObject({ tokenRequests: 2, apiRequests: 1 });

  simulator.faults.clear();
  clock.push(700);
  expect((await call(url)).status).toBe(200);
  expect(simulator.counts()).toMatchObject({ tokenRequests: 3, tokensIssued: 2, apiRequests: 2 });
});
