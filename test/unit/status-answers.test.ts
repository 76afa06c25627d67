/** What an environment's traffic was like: in all, and in the last five minutes. */
import { expect, it } from "vitest";
import { AnswerCounters } from "../../src/adapters/status/counters.ts";
import { findTokenOutage } from "../../src/adapters/status/token-stats.ts";
import { darkNight, quietNight } from "./status-snapshot.ts";

const minuteMs = 60_000;

it("counts by who answered and class of status, and forgets what is older than five minutes", () => {
  const answers = new AnswerCounters();
  for (let n = 0; n < 90; n += 1) answers.add({ by: "service", status: 200, durationMs: 40 }, 0);
  for (let n = 0; n < 10; n += 1) answers.add({ by: "service", status: 503, durationMs: 700 }, 2 * minuteMs);
  answers.add({ by: "countersign", status: 499, durationMs: 1 }, 2 * minuteMs);
  const total = { service: { "2xx": 90, "5xx": 10 }, countersign: { "4xx": 1 } };
  expect(answers.total()).toEqual(total);
  const early = answers.recent(3 * minuteMs);
  expect(early).toMatchObject({ seconds: 300, requests: 101, medianMs: 50, p95Ms: 1_000, answers: total });
  expect(early.perSecond).toBeCloseTo(101 / 300);
  const late = { service: { "5xx": 10 }, countersign: { "4xx": 1 } };
  expect(answers.recent(6 * minuteMs)).toMatchObject({ requests: 11, medianMs: 1_000, answers: late });
  expect(answers.recent(8 * minuteMs)).toMatchObject({ requests: 0, medianMs: undefined, p95Ms: undefined });
  expect(answers.total()).toEqual(total);
});

it("knows no bound of what takes longer than the last one", () => {
  const answers = new AnswerCounters();
  answers.add({ by: "service", status: 200, durationMs: 60_000 }, 0);
  expect(answers.recent(0).medianMs).toBeUndefined();
});

it("finds sites that have asked for a token and have none in any set, and no others", () => {
  const sites = darkNight.environments[0]?.sites ?? [];
  const [blue, green] = darkNight.credentials;
  if (blue === undefined || green === undefined) throw new Error("the night has two sets");
  const { failingSince: since, lastRequest, nextTryAt } = blue;
  const outage = { sites: ["S1000000001", "S1000000002"], since, lastRequest, nextTryAt };
  expect(findTokenOutage(sites, [blue, green])).toEqual(outage);
  // The second set was never tried.
  expect(findTokenOutage(sites, [blue, { ...green, failingSince: undefined }])).toEqual(outage);
  // Nobody has asked yet.
  const quiet = { failingSince: undefined, lastRequest: undefined };
  expect(
    findTokenOutage(sites, [
      { ...blue, ...quiet },
      { ...green, ...quiet },
    ]),
  ).toBeUndefined();
  const [fresh] = quietNight.credentials;
  if (fresh === undefined || fresh.token === "none") throw new Error("the night has a token");
  // A live token of one set serves, whatever becomes of its renewal.
  expect(findTokenOutage(sites, [blue, { ...green, token: fresh.token }])).toBeUndefined();
  const expired = { ...fresh.token, remainingMs: -1 };
  expect(findTokenOutage(sites, [{ ...blue, token: expired }, green])).toEqual(outage);
});
