/** Timestamps come from the wall clock just before the write; a wrong or jumping clock needs no new token. */
import { expect, it } from "vitest";
import type { ApiRequest } from "../../../simulator/src/service/request-log.ts";
import { call, order } from "../../../testkit/call.ts";
import { serverTls, trusting } from "../../../testkit/certificates.ts";
import { startFaultProxy } from "../../../testkit/fault-proxy.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { hmacSite, oauthSite, stage } from "../../../testkit/stage.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

it.each([10 * minuteMs, -10 * minuteMs])(
  "timestamps follow a clock that is wrong by %i ms, and the skew is measured",
  async (offsetMs) => {
    const { clock, url, adminUrl, statusUrl, simulator, recorder } = await stage({
      simulator: { timestampToleranceSeconds: 3_600 },
    });
    clock.jumpWall(offsetMs);
    for (let n = 0; n < 20; n++) expect((await call(url)).status).toBe(200);
    for (const request of simulator.seen.apiRequests) {
      const ageSeconds = (request.receivedAtMs + offsetMs) / 1_000 - stampOf(request);
      expect(ageSeconds).toBeGreaterThanOrEqual(0);
      expect(ageSeconds).toBeLessThan(2);
    }
    const skews = recorder.of("clock_skew_measured");
    expect(skews).toHaveLength(20);
    // An HTTP date is in whole seconds, so the measured skew is up to a second larger.
    for (const { skewSeconds } of skews) expect(Math.abs(skewSeconds - offsetMs / 1_000 - 0.5)).toBeLessThan(2);
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
    const [, shown] = /^countersign_clock_skew_seconds\{[^}]*\} (\S+)$/m.exec(metrics) ?? [];
    expect(Number(shown)).toBe(skews.at(-1)?.skewSeconds);
    const page = await (await fetch(statusUrl)).text();
    expect(page).toMatch(
      offsetMs > 0 ? /clock is 10 min ahead of the service/ : /clock is (9|10) min behind the service/,
    );
    expect(simulator.counts()).toMatchObject({ tokenRequests: 1, unauthorized: 0 });
  },
);

it("a clock that jumps an hour forward and back changes the timestamps and causes no token request", async () => {
  const { clock, url, simulator, recorder } = await stage({
    simulator: { timestampToleranceSeconds: 7_200, tokenLifetimeSeconds: 600 },
  });
  let offsetMs = 0;
  for (const jumpMs of [0, hourMs, -hourMs, -hourMs, hourMs]) {
    clock.jumpWall(jumpMs);
    offsetMs += jumpMs;
    for (let n = 0; n < 5; n++) {
      expect((await call(url)).status).toBe(200);
      const last = simulator.seen.apiRequests.at(-1);
      const ageSeconds = ((last?.receivedAtMs ?? 0) + offsetMs) / 1_000 - stampOf(last);
      expect(ageSeconds).toBeGreaterThanOrEqual(0);
      expect(ageSeconds).toBeLessThan(2);
    }
  }
  expect(recorder.count("token_lapsed")).toBe(0);
  expect(simulator.counts()).toMatchObject({ accepted: 25, tokenRequests: 1 });
});

it.each([oauthSite, hmacSite])(
  "an order whose connection takes two minutes to open gets the timestamp of the moment when it is ready, signed anew: %s",
  async (site) => {
    const clock = new ShiftedClock();
    const front = await stage({
      simulator: { tls: serverTls, nowMs: () => clock.wallMs() },
    });
    const { simulator } = front;
    const gate = await startFaultProxy(simulator.apiUrl);
    gate.toTarget.become({ blackHole: true });
    const { url, recorder } = await stage({
      surroundings: { clock },
      baseUrl: `https://localhost:${gate.port}/json-api`,
      authUrl: simulator.loginUrl,
      environment: { tls: trusting },
      timeouts: { requestMs: hourMs, connectMs: 10_000, tokenMs: 5_000 },
      oneSet: true,
    });
    await recorder.nth("token_adopted", 1);
    const calling = call(url, order, { headers: { "Countersign-Site": site } });
    await gate.until(() => gate.connections >= 1);
    clock.push(2 * minuteMs);
    const readyAtSeconds = Math.floor(clock.wallMs() / 1_000);
    gate.heal();
    expect((await calling).status).toBe(200);
    const [request] = simulator.seen.apiRequests;
    expect(request?.refusal).toBeUndefined();
    expect(stampOf(request)).toBeGreaterThanOrEqual(readyAtSeconds);
    expect(simulator.counts()).toMatchObject({ apiRequests: 1, accepted: 1 });
  },
);

function stampOf(request: ApiRequest | undefined): number {
  return Number(JSON.parse(request?.body.toString() ?? "{}").timestamp);
}
