/** Product sections 4 and 5: the gauges of a token appear with it, move with its successor, and lapse with it. */
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { oauthSite, stageProxy } from "../../../testkit/stage.ts";

const hourSeconds = 3_600;
const blue = { environment: "sandbox", credential: `${oauthSite}/blue` };
const green = { environment: "sandbox", credential: `${oauthSite}/green` };

async function stageHour() {
  const simulator = { tokenLifetimeSeconds: hourSeconds, timestampToleranceSeconds: 100 * hourSeconds };
  const stage = await stageProxy({ simulator });
  await stage.recorder.nth("token_adopted", 1);
  const gauges = async (credential: Record<string, string>) => {
    const { value } = await stage.metrics();
    return {
      expiry: value("countersign_token_expiry_timestamp_seconds", credential),
      issued: value("countersign_token_issued_timestamp_seconds", credential),
      lastUsed: value("countersign_credential_last_used_timestamp_seconds", credential),
      active: value("countersign_credential_active", credential),
    };
  };
  return { ...stage, gauges, nowSeconds: () => stage.clock.wallMs() / 1_000 };
}

/** Within a minute, on a busy machine. */
function expectNear(value: number | undefined, wanted: number): void {
  expect(Math.abs((value ?? Number.NaN) - wanted)).toBeLessThan(60);
}

it("appear with the token: when it was issued, when it expires", async () => {
  const { gauges, nowSeconds } = await stageHour();
  const { expiry, issued, lastUsed, active } = await gauges(blue);
  expectNear(expiry, nowSeconds() + hourSeconds);
  expectNear(issued, nowSeconds());
  expect((expiry ?? 0) - (issued ?? 0)).toBeCloseTo(hourSeconds, 3);
  expect({ lastUsed, active }).toEqual({ lastUsed: undefined, active: 1 });
  expect(await gauges(green)).toEqual({ expiry: undefined, issued: undefined, lastUsed: undefined, active: 0 });
});

it("move with the token that follows it", async () => {
  const { url, clock, gauges, recorder, nowSeconds } = await stageHour();
  await call(url);
  expectNear((await gauges(blue)).lastUsed, nowSeconds());
  const before = await gauges(blue);
  clock.push(0.89 * hourSeconds * 1_000);
  await recorder.nth("token_adopted", 2);
  const after = await gauges(blue);
  expectNear(after.expiry, nowSeconds() + hourSeconds);
  expect(after.issued).toBeGreaterThan((before.issued ?? 0) + 3_000);
  expect(after.lastUsed).toBe(before.lastUsed);
});

it("lapse with an unused token, but the time of the last use stays", async () => {
  const { url, clock, gauges, recorder } = await stageHour();
  await call(url);
  clock.push(0.89 * hourSeconds * 1_000);
  await recorder.nth("token_adopted", 2);
  const { lastUsed } = await gauges(blue);
  clock.push(2 * hourSeconds * 1_000);
  await recorder.nth("token_lapsed", 1);
  expect(await gauges(blue)).toEqual({ expiry: undefined, issued: undefined, lastUsed, active: 1 });
});

it("count the first use of a token, also by a request that had to wait for it", async () => {
  const { url, clock, gauges, recorder, nowSeconds } = await stageHour();
  clock.push(2 * hourSeconds * 1_000);
  await recorder.nth("token_lapsed", 1);
  expect((await gauges(blue)).lastUsed).toBeUndefined();
  expect((await call(url)).status).toBe(200);
  expectNear((await gauges(blue)).lastUsed, nowSeconds());
});

it("show which set is in use when the second takes over", async () => {
  const { url, simulator, clock, gauges, recorder } = await stageHour();
  simulator.deleteCredentials("blue-id");
  clock.push(2 * hourSeconds * 1_000);
  await recorder.nth("token_lapsed", 1);
  expect((await call(url)).status).toBe(200);
  expect((await gauges(blue)).active).toBe(0);
  expect(await gauges(green)).toMatchObject({ active: 1, expiry: expect.any(Number), lastUsed: expect.any(Number) });
});
