/** Row 87: a 5xx passes as it is with the outcome `unknown`, unless the environment's `undecided` says otherwise. */
import { expect, it } from "vitest";
import { call } from "../../../testkit/call.ts";
import { scrape } from "../../../testkit/exposition.ts";
import { logOf } from "../../../testkit/log-lines.ts";
import { orderRaw } from "../../../testkit/raw-caller.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { hmacSite, oauthSite, type StageOptions, stageProxy } from "../../../testkit/stage.ts";

const body = "<html>Bad gateway</html>";
const headers = "Server: balancer\r\nRetry-After: 7\r\nCountersign-Outcome: answered\r\n";

/** A service behind something that answers with these statuses in turn. */
async function stageBehind(statuses: readonly number[], undecided?: readonly number[], options: StageOptions = {}) {
  const upstream = await startRawUpstream({ answer: statuses.map((status) => rawAnswer(status, body, headers)) });
  return stageProxy({
    baseUrl: upstream.url,
    environment: undecided === undefined ? {} : { undecided: new Set(undecided) },
    oneSet: true,
    ...options,
  });
}

it.each([
  [hmacSite, undefined],
  [oauthSite, undefined],
  [hmacSite, [502, 504]],
])("an answer of %s with one of them passes as it is, and is unknown", async (site, undecided) => {
  const stage = await stageBehind([502, 504], undecided);
  for (const status of [502, 504]) {
    const answer = await orderRaw(stage.port, { "Countersign-Site": site, "Countersign-Reference": `A-${status}` });
    expect(answer).toMatchObject({ status, body, isComplete: true });
    expect(answer.lines).toEqual(expect.arrayContaining(["Server: balancer", "Retry-After: 7"]));
    expect(answer.values("countersign-outcome")).toEqual(["unknown"]);
    expect(answer.value("countersign-error")).toBeUndefined();
  }
  const { recorder, adminUrl, statusUrl } = stage;
  await recorder.nth("request_finished", 2);
  const lines = logOf(recorder.events, "info").of("request_finished");
  expect(lines).toMatchObject([
    { level: "error", status: 502, by: "service", outcome: "unknown", reference: "A-502" },
    { level: "error", status: 504, by: "service", outcome: "unknown", reference: "A-504" },
  ]);
  const { sum } = await scrape(adminUrl);
  expect(sum("countersign_unknown_outcomes_total", { site })).toBe(2);
  expect(sum("countersign_requests_total", { site, by: "service", outcome: "unknown" })).toBe(2);
  expect(sum("countersign_requests_total", { status: "502", by: "service", outcome: "unknown" })).toBe(1);
  expect(sum("countersign_failures_total")).toBe(0);
  const { json } = await call(statusUrl, "", { method: "GET", path: "/status" });
  expect(json.requests.unknownOutcomes).toBe(2);
  expect(json.unknownOutcomes).toMatchObject([
    { reference: "A-504", status: 504, operation: "create_order", site },
    { reference: "A-502", status: 502, operation: "create_order", site },
  ]);
  const page = await call(statusUrl, "", { method: "GET", path: "/" });
  expect(page.text).toContain("answered 504");
});

it("each 5xx is, where nothing is written, and nothing else is", async () => {
  const statuses = [500, 501, 503, 507, 599, 200, 400, 403, 404, 409, 429];
  const { port, recorder } = await stageBehind(statuses);
  for (const status of statuses) {
    const answer = await orderRaw(port, { "Countersign-Site": hmacSite });
    expect(answer).toMatchObject({ status, body, isComplete: true });
    expect(answer.values("countersign-outcome")).toEqual([status >= 500 ? "unknown" : "answered"]);
  }
  expect(recorder.of("request_finished").filter(({ outcome }) => outcome === "unknown")).toHaveLength(5);
});

it("other statuses, and all of them where the list is empty, are the service's own word", async () => {
  const statuses = [500, 503, 400];
  const some = await stageBehind(statuses, [502, 504]);
  const none = await stageBehind([502, 503, 504], []);
  for (const stage of [some, none]) {
    for (let n = 1; n <= 3; n++) {
      const answer = await orderRaw(stage.port, { "Countersign-Site": hmacSite });
      expect(answer.values("countersign-outcome")).toEqual(["answered"]);
    }
    expect(stage.recorder.of("request_finished").map(({ outcome }) => outcome)).toEqual(Array(3).fill("answered"));
  }
});

it("a retry that something in front of the service answers is unknown, too", async () => {
  const stage = await stageBehind([401, 502], [502]);
  await stage.recorder.nth("token_adopted", 1);
  // Two refreshes are at least a second apart.
  stage.clock.push(1_000);
  const answer = await orderRaw(stage.port);
  expect(answer).toMatchObject({ status: 502, body, isComplete: true });
  expect(answer.value("countersign-attempts")).toBe("2");
  expect(answer.value("countersign-outcome")).toBe("unknown");
});
