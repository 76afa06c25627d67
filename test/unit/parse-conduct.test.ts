/** What stands in Redis is foreign text: a planted or damaged document says nothing, or little, and never breaks anything. */
import { describe, expect, it } from "vitest";
import { parseConduct } from "../../src/adapters/redis/parse-shared-limits.ts";
import { quietConduct } from "../../src/oauth/shared-limits.ts";

const now = 1_000_000;
const parse = (document: unknown) => parseConduct(JSON.stringify(document), now);
const login = { kind: "throttled", status: 429, failures: 2, atMs: now - 10, untilMs: now + 5_000 };

it("reads what the scripts write", () => {
  const conduct = parse({
    login,
    sites: { S1: { pauseMs: 30_000, untilMs: now + 20_000 }, S2: { pauseMs: 60_000, untilMs: now - 1 } },
    tries: { "t2 S2": { useless: true, atMs: now - 10 }, "t1 S1": { useless: false, atMs: now - 20 } },
  });
  expect(conduct.login).toEqual({
    kind: "throttled",
    status: 429,
    failures: 2,
    remainingMs: 5_000,
    ageMs: expect.any(Number),
  });
  expect(Object.fromEntries(conduct.sites)).toEqual({
    S1: { pauseMs: 30_000, remainingMs: 20_000 },
    S2: { pauseMs: 60_000, remainingMs: 0 },
  });
  expect(conduct.tries).toEqual([
    { token: "t1", site: "S1", fate: "open", isAccepted: false, isDoubted: false, ageMs: 20 },
    { token: "t2", site: "S2", fate: "useless", isAccepted: false, isDoubted: false, ageMs: 10 },
  ]);
});

it("believes no pause longer than an authorization server may ask for", () => {
  expect(parse({ login: { ...login, untilMs: 1e300 } }).login?.remainingMs).toBe(86_400_000);
  expect(parse({ login: { ...login, failures: 1e300 } }).login?.failures).toBe(64);
  expect(parse({ sites: { S1: { pauseMs: 900_001, untilMs: now } } }).sites.size).toBe(0);
});

it("believes nothing that lies in the future, as after Redis's clock stepped back", () => {
  expect(parse({ login: { ...login, atMs: now + 2_000 } }).login).toBeUndefined();
  expect(parse({ sites: { S1: { pauseMs: 30_000, untilMs: now + 32_000 } } }).sites.size).toBe(0);
  expect(parse({ tries: { "t1 S1": { useless: true, atMs: now + 2_000 } } }).tries).toEqual([]);
});

describe("a damaged document says nothing", () => {
  it.each([
    ["no JSON", "{"],
    ["an array", "[]"],
    ["a number", "1"],
    ["null", "null"],
    ["too long", `{"sites":{},"x":"${"x".repeat(70_000)}"}`],
    ["parts of another type", '{"login":1,"sites":"x","tries":[1,2]}'],
    ["members of another type", '{"login":{},"sites":{"S1":5},"tries":{"t S":null,"t":{"useless":true,"atMs":1}}}'],
    ["a pause of a kind that is unknown", JSON.stringify({ login: { ...login, kind: "for ever" } })],
    ["a pause that is over", JSON.stringify({ login: { ...login, untilMs: now } })],
    ["moments that are no numbers", JSON.stringify({ login: { ...login, untilMs: "9999999999999" } })],
    ["negative moments", JSON.stringify({ sites: { S1: { pauseMs: -1, untilMs: -1 } } })],
  ])("%s", (_, text) => {
    expect(parseConduct(text, now)).toEqual(quietConduct);
  });
});

it("drops a status that no HTTP answer has", () => {
  expect(parse({ login: { ...login, status: 7 } }).login?.status).toBeUndefined();
});

it("reads as many forced refreshes as count, and no more", () => {
  const tries = Object.fromEntries(
    Array.from({ length: 100 }, (_, n) => [`t${n} S1`, { useless: true, atMs: now - n }]),
  );
  expect(parse({ tries }).tries).toHaveLength(32);
});
