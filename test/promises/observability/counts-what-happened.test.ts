/** Product section 5: each way in which a request can end is counted exactly in the metrics. */
import { expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { logOf } from "../../../testkit/log-lines.ts";
import { orderRaw } from "../../../testkit/raw-caller.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, oauthSite, type StageOptions, stage } from "../../../testkit/stage.ts";

const environment = "sandbox";
const operation = "create_order";
const answered = { environment, operation, by: "service", outcome: "answered" };
const blue = { environment, credential: `${oauthSite}/blue` };

it("counts an order with OAuth: one request, one token, three durations", async () => {
  const { url, metricsAfter } = await stageWarm();
  await call(url);
  const { value, sum } = await metricsAfter(1);
  const served = { ...answered, site: oauthSite, auth: "oauth", status: "200" };
  expect(value("countersign_requests_total", served)).toBe(1);
  for (const name of ["request_duration", "upstream_duration", "overhead"]) {
    expect(value(`countersign_${name}_seconds_count`, { environment, operation })).toBe(1);
    expect(value(`countersign_${name}_seconds_sum`, { environment, operation })).toBeGreaterThan(0);
  }
  expect(value("countersign_token_requests_total", { ...blue, result: "issued" })).toBe(1);
  expect(value("countersign_token_request_duration_seconds_count", { environment })).toBe(1);
  expect(value("countersign_token_cache_total", { tier: "memory", result: "hit" })).toBe(1);
  expect(value("countersign_refresh_lock_total", { result: "acquired" })).toBe(1);
  expect(Math.abs(value("countersign_clock_skew_seconds", { environment }) ?? Number.NaN)).toBeLessThan(10);
  expect(sum("countersign_failures_total")).toBe(0);
  expect(sum("countersign_upstream_unauthorized_total")).toBe(0);
  expect(sum("countersign_retries_total")).toBe(0);
});

it("counts an order with HMAC, which touches no token", async () => {
  const { url, metricsAfter } = await stageWarm();
  await call(url, order, { headers: { "Countersign-Site": hmacSite } });
  const { value, sum } = await metricsAfter(1);
  const served = { ...answered, site: hmacSite, auth: "hmac", status: "200" };
  expect(value("countersign_requests_total", served)).toBe(1);
  expect(sum("countersign_token_cache_total")).toBe(0);
  expect(value("countersign_credential_last_used_timestamp_seconds", blue)).toBeUndefined();
});

it("counts a 401 that a retry healed as one request, one 401, one cured retry and one more token", async () => {
  const { url, simulator, metricsAfter } = await stageWarm();
  simulator.revokeAllTokens();
  expect((await call(url)).status).toBe(200);
  const { value, sum } = await metricsAfter(1);
  const unauthorized = { environment, site: oauthSite, auth: "oauth" };
  expect(value("countersign_upstream_unauthorized_total", { ...unauthorized, attempt: "1" })).toBe(1);
  expect(value("countersign_upstream_unauthorized_total", { ...unauthorized, attempt: "2" })).toBeUndefined();
  expect(value("countersign_retries_total", { environment, site: oauthSite, result: "cured" })).toBe(1);
  expect(sum("countersign_retries_total")).toBe(1);
  expect(value("countersign_token_requests_total", { ...blue, result: "issued" })).toBe(2);
  expect(sum("countersign_failures_total")).toBe(0);
});

it("counts a second 401, and the refresh that is then suppressed", async () => {
  const { url, simulator, metricsAfter } = await stageWarm();
  simulator.faults.add({ host: "api", kind: "answer", status: 401, times: 3 });
  expect((await call(url)).status).toBe(401);
  expect((await call(url)).status).toBe(401);
  const { value } = await metricsAfter(2);
  const passedOn = { ...answered, site: oauthSite, auth: "oauth", status: "401" };
  expect(value("countersign_requests_total", passedOn)).toBe(2);
  const unauthorized = { environment, site: oauthSite, auth: "oauth" };
  expect(value("countersign_upstream_unauthorized_total", { ...unauthorized, attempt: "1" })).toBe(2);
  expect(value("countersign_upstream_unauthorized_total", { ...unauthorized, attempt: "2" })).toBe(1);
  expect(value("countersign_retries_total", { environment, site: oauthSite, result: "refused" })).toBe(1);
  expect(value("countersign_retries_total", { environment, site: oauthSite, result: "not_possible" })).toBe(1);
  expect(value("countersign_refresh_suppressed_total", { ...blue, reason: "paused" })).toBe(1);
  expect(value("countersign_refresh_suppressed_total", { ...blue, reason: "limited" })).toBeUndefined();
});

it("counts a refusal before the site is known under site none", async () => {
  const { url, metricsAfter } = await stageWarm();
  await call(url, "{", {});
  await call(url, order, { path: "/a/../b" });
  await call(url, order, { path: "/refund_order" });
  const { value, sum } = await metricsAfter(3);
  const unsent = { environment, site: "none", auth: "none", by: "countersign", outcome: "not_sent" };
  const refused = (operation: string, status: string) =>
    value("countersign_requests_total", { ...unsent, operation, status });
  expect([refused(operation, "400"), refused("none", "400"), refused("other", "403")]).toEqual([1, 1, 1]);
  for (const code of ["body_not_json", "target_not_allowed", "operation_not_allowed"]) {
    expect(value("countersign_failures_total", { environment, site: "none", code, outcome: "not_sent" })).toBe(1);
  }
  expect(sum("countersign_failures_total")).toBe(3);
  expect(sum("countersign_upstream_duration_seconds_count")).toBe(0);
});

it("counts an unknown outcome as a failure with that outcome", async () => {
  const { url, simulator, metricsAfter } = await stageWarm();
  simulator.faults.add({ host: "api", kind: "reset", when: "after_reading" });
  expect((await call(url)).status).toBe(502);
  const { value, sum } = await metricsAfter(1);
  const failure = { environment, site: oauthSite, code: "upstream_reset", outcome: "unknown" };
  expect(value("countersign_failures_total", failure)).toBe(1);
  expect(sum("countersign_failures_total")).toBe(1);
  expect(value("countersign_upstream_duration_seconds_count", { environment, operation })).toBe(1);
});

it("counts the requests in flight, and 0 when they have ended", async () => {
  const { url, simulator, metrics, metricsAfter } = await stageWarm();
  const hang = simulator.faults.add({ host: "api", kind: "hang", times: 3 });
  const calls = [call(url), call(url), call(url)];
  await hang.whenPlayed(3);
  expect((await metrics()).value("countersign_requests_in_flight", { environment })).toBe(3);
  hang.release();
  await Promise.all(calls);
  expect((await metricsAfter(3)).value("countersign_requests_in_flight", { environment })).toBe(0);
});

it("the service's time lasts until the last piece of its answer", async () => {
  const { url, recorder, simulator } = await stage();
  simulator.faults.add({ host: "api", kind: "drip", chunkBytes: 10, intervalMs: 50 });
  const { text } = await call(url);
  const { upstreamMs, overheadMs, durationMs } = await recorder.nth("request_finished", 1);
  expect(upstreamMs).toBeGreaterThan((text.length / 10 - 1) * 45);
  expect(overheadMs).toBeLessThan(durationMs - (upstreamMs ?? 0) + 1);
});

it.each([
  ["a length", `HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"order_`],
  ["only the close to end it", `HTTP/1.1 200 OK\r\n\r\n{"order_`],
])("counts an answer with %s that was cut as unknown, once, and not as a caller that left", async (_name, bytes) => {
  const upstream = await startRawUpstream({
    answer: ({ number }, socket) => {
      if (number > 2) socket.write(rawAnswer(200, "{}"));
      else socket.write(bytes, () => socket.resetAndDestroy());
    },
  });
  const { port, recorder, metricsAfter } = await stageWarm({ baseUrl: upstream.url });
  for (let n = 1; n <= 5; n++) await orderRaw(port, { "Countersign-Site": hmacSite });
  const { value, sum } = await metricsAfter(5);
  const served = { environment, site: hmacSite, auth: "hmac", operation };
  const cut = { status: "502", by: "countersign", outcome: "unknown" };
  const whole = { status: "200", by: "service", outcome: "answered" };
  expect(value("countersign_requests_total", { ...served, ...cut })).toBe(2);
  expect(value("countersign_requests_total", { ...served, ...whole })).toBe(3);
  expect(sum("countersign_unknown_outcomes_total")).toBe(2);
  expect(sum("countersign_requests_total", { outcome: "answered" })).toBe(3);
  const lines = logOf(recorder.events, "info").of("request_finished");
  expect(lines.map(({ callerLeft }) => callerLeft)).toEqual(lines.map(() => undefined));
  expect(lines.filter(({ outcome, code }) => outcome === "unknown" && code === "upstream_reset")).toHaveLength(2);
});

/** A proxy that has its token; `metricsAfter(n)` reads its metrics once n requests have ended. */
async function stageWarm(options: StageOptions = {}) {
  const staged = await stage({ oneSet: true, ...options });
  const { recorder, metrics } = staged;
  await recorder.nth("token_adopted", 1);
  const metricsAfter = async (requests: number) => {
    await recorder.nth("request_finished", requests);
    const exposition = await metrics();
    expect(exposition.sum("countersign_requests_total")).toBe(requests);
    expect(exposition.sum("countersign_requests_in_flight")).toBe(0);
    return exposition;
  };
  return { ...staged, metricsAfter };
}
