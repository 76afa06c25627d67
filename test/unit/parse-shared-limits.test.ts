/** Values in Redis are foreign text: planted or damaged ones are ignored or limited, and never break anything. */
import { describe, expect, it } from "vitest";
import { formatEndpointPause, parseEndpoint, parseForced } from "../../src/adapters/redis/scripts.ts";

/** @param leftMs remaining time of the pause; Redis keeps the value for a further minute */
const parse = (endpoint: unknown, leftMs = 5_000) => parseEndpoint(endpoint, leftMs + 60_000);
const hourMs = 3_600_000;

it.each([
  { kind: "refused", status: 401, failures: 0 },
  { kind: "throttled", status: 429, failures: 7 },
  { kind: "failing", status: 503, failures: 1 },
] as const)("reads the pause that it writes: %o", (pause) => {
  const text = formatEndpointPause({ ...pause, remainingMs: 9_999.5 }, 10_000);
  expect(parse(text, 9_000)).toEqual({ ...pause, remainingMs: 9_000 });
});

it("reads a count of forced refreshes with its age", () => {
  expect(parseForced("5 600000", hourMs - 20)).toEqual({ useless: 5, spentMs: 600_000, ageMs: 20 });
});

it("believes no pause longer than an authorization server may demand", () => {
  expect(parse(`throttled 429 2 ${1e14}`, 1e14)?.remainingMs).toBe(86_400_000);
  expect(parse(`throttled 429 ${1e14} 6000`)?.failures).toBe(64);
  expect(parseForced("1 999999999", hourMs)?.spentMs).toBe(2 * hourMs);
});

it("believes no value from the future, as after Redis's clock stepped back", () => {
  expect(parse("throttled 429 2 6000", 7_001)).toBeUndefined();
  expect(parseForced("5 0", hourMs + 1_001)).toBeUndefined();
});

it("takes a value for present if it is ahead by less than the correction of a clock", () => {
  expect(parse("throttled 429 2 6000", 6_900)).toMatchObject({ remainingMs: 6_000 });
  expect(parseForced("5 0", hourMs + 900)).toMatchObject({ ageMs: 0 });
});

it("reads the failures before a pause until a minute after the pause", () => {
  expect(parse("failing 503 3 400", -59_000)).toMatchObject({ failures: 3, remainingMs: 0 });
});

describe("a damaged value is ignored", () => {
  it.each([
    ["an error in place of a value", new Error("WRONGTYPE")],
    ["a number", 1],
    ["an empty string", ""],
    ["JSON", '{"kind":"throttled"}'],
    ["too long", `throttled 429 2 ${"6".repeat(16)}`],
    ["a pause of a kind that is unknown", "forever 429 2 6000"],
    ["amounts that are not numbers", "throttled 429 2 soon"],
    ["negative amounts", "throttled 429 -2 6000"],
    ["a status that no HTTP answer has", "throttled 7 2 6000"],
    ["more behind it", "throttled 429 2 6000 7"],
    ["a line break", "throttled 429 2 6000\n"],
  ])("the endpoint's pause: %s", (_, text) => {
    expect(parse(text)).toBeUndefined();
  });

  it.each([
    ["an error in place of a value", new Error("WRONGTYPE")],
    ["a number", 5],
    ["an empty string", ""],
    ["too many digits", "10000 0"],
    ["a sign", "-1 0"],
    ["one number", "5"],
    ["more behind it", "5 0 S1"],
    ["a line break", "5 0\n"],
  ])("a count of forced refreshes: %s", (_, text) => {
    expect(parseForced(text, 5_000)).toBeUndefined();
  });

  it.each([0, -1, "5000", null])("with a key that has %o ms left", (keptMs) => {
    expect(parseEndpoint("throttled 429 2 6000", keptMs)).toBeUndefined();
    expect(parseForced("5 0", keptMs)).toBeUndefined();
  });
});
