/** Row 39: endless 401s of one site use three useless tokens a minute at most, and the 401s of other sites are cured at once. */
import { expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { childSite, oauthSite, stageProxy } from "../../../testkit/stage.ts";

const asChild = { headers: { "Countersign-Site": childSite } };

async function stageForever() {
  const clock = new ShiftedClock();
  const stage = await stageProxy({ surroundings: { clock }, simulator: { nowMs: () => clock.wallMs() } });
  const { simulator, url } = stage;
  simulator.faults.add({
    host: "api",
    site: childSite,
    kind: "answer",
    status: 401,
    times: "until_cleared",
    body: "no",
  });
  const askAsChild = async () => {
    const answer = await call(url, order, asChild);
    expect(answer).toMatchObject({ status: 401, text: "no" });
    expect(answer.headers["countersign-outcome"]).toBe("answered");
  };
  return { ...stage, clock, askAsChild };
}

it("an endless 401 is passed on, and uses one token, then one more after each of two pauses of 20 s", async () => {
  const { simulator, clock, askAsChild, recorder } = await stageForever();
  const issued: number[] = [];
  for (const pauseMs of [0, 15_000, 6_000, 15_000, 6_000]) {
    clock.push(pauseMs);
    for (let n = 0; n < 5; n++) await askAsChild();
    issued.push(simulator.counts().tokensIssued);
  }
  expect(issued).toEqual([2, 2, 3, 3, 4]);
  await recorder.nth("request_finished", 25);
  expect(recorder.of("request_finished").filter(({ retry }) => retry === "refused")).toHaveLength(3);
  const suppressed = recorder.of("refresh_suppressed");
  expect(new Set(suppressed.map(({ site }) => site))).toEqual(new Set([childSite]));
  // The site's own window, and that of every site that has not accepted the token.
  expect(new Set(suppressed.map(({ reason }) => reason))).toEqual(new Set(["paused", "limited"]));
});

it("an endless 401 of one site does not affect the other sites of the set", async () => {
  const { url, simulator, askAsChild } = await stageForever();
  for (let n = 0; n < 10; n++) {
    await askAsChild();
    const answer = await call(url);
    expect(answer.status).toBe(200);
    expect(answer.headers["countersign-attempts"]).toBeUndefined();
  }
  expect(simulator.counts()).toMatchObject({ tokensIssued: 2, accepted: 10 });
});

it("an endless 401 of one site does not delay the replacement of another site's revoked token", async () => {
  const { url, simulator, askAsChild, recorder } = await stageForever();
  expect((await call(url)).status).toBe(200);
  for (let n = 0; n < 5; n++) await askAsChild();
  const before = simulator.counts().tokensIssued;
  simulator.revokeAllTokens();
  const cured = await call(url);
  expect(cured).toMatchObject({ status: 200, headers: { "countersign-attempts": "2" } });
  expect(simulator.counts().tokensIssued).toBe(before + 1);
  expect(recorder.of("refresh_suppressed").filter(({ site }) => site === oauthSite)).toEqual([]);
});

it("the pause ends with its window once the service accepts the site again", async () => {
  const { url, simulator, clock, askAsChild } = await stageForever();
  for (let n = 0; n < 3; n++) await askAsChild();
  simulator.faults.clear();
  expect((await call(url, order, asChild)).status).toBe(200);
  simulator.revokeAllTokens();
  clock.push(10_000);
  expect((await call(url, order, asChild)).status).toBe(200);
  expect(simulator.counts().tokensIssued).toBe(3);
});

it("the pause continues after a 5xx, which does not accept the token", async () => {
  const { simulator, url, askAsChild } = await stageForever();
  await askAsChild();
  const { tokensIssued } = simulator.counts();
  simulator.faults.clear();
  simulator.faults.add({ host: "api", site: childSite, kind: "answer", status: 503 });
  simulator.faults.add({ host: "api", site: childSite, kind: "answer", status: 401, times: 5, body: "no" });
  expect((await call(url, order, asChild)).status).toBe(503);
  for (let n = 0; n < 5; n++) await askAsChild();
  expect(simulator.counts().tokensIssued).toBe(tokensIssued);
});
