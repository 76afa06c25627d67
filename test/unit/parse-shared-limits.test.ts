/** What stands in Redis is foreign text: planted or damaged values say nothing, or little, and never break anything. */
import { describe, expect, it } from "vitest";
import { formatEndpointPause, type LimitsReply, parseLimits } from "../../src/adapters/redis/shared-limits.ts";
import { forcedRefreshesOf } from "../../src/oauth/forced-refresh-log.ts";
import { noLimits } from "../../src/oauth/shared-limits.ts";

const now = 1_000_000;
const parse = (reply: Partial<LimitsReply>) =>
  parseLimits({ nowMs: now, endpoint: null, endpointLeftMs: -2, facts: [], pauses: [], ...reply });
const parseEndpoint = (endpoint: unknown, endpointLeftMs: unknown = 5_000) =>
  parse({ endpoint, endpointLeftMs }).endpoint;

it("reads what the scripts write", () => {
  const limits = parse({
    endpoint: "throttled 429 2 - 6000",
    endpointLeftMs: 5_000,
    facts: ["forced t1 S1", `${now - 20}`, "failed t2 S2", `${now - 10}`],
    pauses: ["S1 30000", `${now + 20_000}`, "S2 60000", `${now - 1}`],
  });
  expect(limits.endpoint).toEqual({ kind: "throttled", status: 429, failures: 2, remainingMs: 5_000, ageMs: 1_000 });
  expect(Object.fromEntries(limits.sites)).toEqual({
    S1: { pauseMs: 30_000, remainingMs: 20_000 },
    S2: { pauseMs: 60_000, remainingMs: 0 },
  });
  expect(limits.facts).toEqual([
    { kind: "forced", token: "t1", site: "S1", ageMs: 20 },
    { kind: "failed", token: "t2", site: "S2", ageMs: 10 },
  ]);
  expect(forcedRefreshesOf(limits.facts)).toEqual([
    { token: "t1", site: "S1", status: "pending", isAccepted: false, isDoubtful: false },
    { token: "t2", site: "S2", status: "failed", isAccepted: false, isDoubtful: false },
  ]);
});

it.each([
  { kind: "refused", status: 401, failures: 0 },
  { kind: "throttled", status: 429, failures: 7 },
  { kind: "failing", status: undefined, failures: 3, transport: "0a1b2c" },
  { kind: "failing", status: 503, failures: 1 },
] as const)("reads the pause that it writes: %o", (pause) => {
  const text = formatEndpointPause({ ...pause, remainingMs: 9_999.5 }, 10_000);
  expect(parseEndpoint(text, 9_000)).toEqual({ ...pause, remainingMs: 9_000, ageMs: 1_000 });
});

it("believes no pause longer than an authorization server may ask for", () => {
  expect(parseEndpoint(`throttled 429 2 - ${1e14}`, 1e14)?.remainingMs).toBe(86_400_000);
  expect(parseEndpoint(`throttled 429 ${1e14} - 6000`)?.failures).toBe(64);
  expect(parse({ pauses: ["S1 900001", `${now}`] }).sites.size).toBe(0);
});

it("believes nothing that lies in the future, as after Redis's clock stepped back", () => {
  expect(parseEndpoint("throttled 429 2 - 6000", 7_001)).toBeUndefined();
  expect(parse({ pauses: ["S1 30000", `${now + 32_000}`] }).sites.size).toBe(0);
  expect(parse({ facts: ["failed t1 S1", `${now + 2_000}`] }).facts).toEqual([]);
});

it("takes what lies ahead by less than a clock's correction for what is now", () => {
  expect(parseEndpoint("throttled 429 2 - 6000", 6_900)).toMatchObject({ remainingMs: 6_000, ageMs: 0 });
  expect(parse({ pauses: ["S1 30000", `${now + 30_900}`] }).sites.get("S1")?.remainingMs).toBe(30_000);
  expect(parse({ facts: ["failed t1 S1", `${now + 900}`] }).facts).toMatchObject([{ ageMs: 0 }]);
});

describe("a damaged value says nothing", () => {
  it.each([
    ["an error in place of a value", new Error("WRONGTYPE")],
    ["a number", 1],
    ["an empty string", ""],
    ["JSON", '{"kind":"throttled"}'],
    ["too long", `throttled 429 2 ${"a".repeat(65)} 6000`],
    ["a pause of a kind that is unknown", "forever 429 2 - 6000"],
    ["amounts that are no numbers", "throttled 429 2 - soon"],
    ["negative amounts", "throttled 429 -2 - 6000"],
    ["more behind it", "throttled 429 2 - 6000 7"],
    ["a line break", "throttled 429 2 - 6000\n"],
  ])("the endpoint's pause: %s", (_, text) => {
    expect(parseEndpoint(text)).toBeUndefined();
  });

  it.each([0, -1, "5000", null])("the endpoint's pause with %o ms left of it", (leftMs) => {
    expect(parseEndpoint("throttled 429 2 - 6000", leftMs)).toBeUndefined();
  });

  it.each([
    ["an error in place of a list", new Error("WRONGTYPE")],
    ["a string", "failed t1 S1"],
    ["members of another type", [5, `${now}`, null, `${now}`]],
    ["members of another form", ["S1", `${now}`, "failed t1", `${now}`, "failed t1 S1 x", `${now}`, "", `${now}`]],
    ["members that are too long", [`failed ${"t".repeat(65)} S1`, `${now}`, `${"S".repeat(65)} 30000`, `${now}`]],
    ["a fact that is unknown", ["excused t1 S1", `${now}`]],
    ["scores that are no moments", ["failed t1 S1", "soon", "failed t1 S2", "-inf", "failed t1 S3", "inf"]],
    ["pauses without a moment", ["S1 30000", "soon", "S2 30000", "inf", "S3 30000", "-inf"]],
    ["a member without a score", ["failed t1 S1"]],
    ["what is over", ["failed t1 S1", `${now - 60_000}`, "S1 30000", `${now - 900_000}`]],
  ])("facts and pauses: %s", (_, list) => {
    expect(parse({ facts: list, pauses: list })).toEqual(noLimits);
  });
});

it("drops a status that no HTTP answer has", () => {
  expect(parseEndpoint("throttled 7 2 - 6000")).toMatchObject({ kind: "throttled", status: undefined });
});

it("counts as many forced refreshes as matter, and no more", () => {
  const facts = Array.from({ length: 100 }, (_, n) => [`failed t${n} S1`, `${now - n}`]).flat();
  expect(forcedRefreshesOf(parse({ facts }).facts)).toHaveLength(32);
});
