/** Proves the product's section 2, "Helpers of the caller": the Countersign-* headers, and which of them are refused. */
import { describe, expect, it } from "vitest";
import { peekReference, readRequestOptions } from "../../src/serving/request-options.ts";
import { type HeaderLine, lines } from "./header-line.ts";
import { refusalOf } from "./refusal-of.ts";

const longestMs = 20_000;
const read = (...headers: HeaderLine[]) => readRequestOptions(headers.flat(), longestMs);

it("a request without such headers has no options", () => {
  const none = { site: undefined, auth: undefined, timeoutMs: undefined, reference: undefined };
  expect(read()).toEqual(none);
  expect(read(["Content-Type", "application/json"], ["Cookie", "a=b"], ["X-Signature", "x"])).toEqual(none);
  expect(read(["Countersigned", "x"], ["X-Count", "1"], ["Counter", "x"], ["Connection", "close"])).toEqual(none);
});

describe("an unknown name of a Countersign-* header", () => {
  it.each([
    ["Countersign-Refrence", "Countersign-Reference"],
    ["countersign-ref", "Countersign-Reference"],
    ["COUNTERSIGN-TIMEOUT", "Countersign-Timeout-Ms"],
    ["Countersign-Timeout-Seconds", "Countersign-Timeout-Ms"],
    ["Countersign-Sites", "Countersign-Site"],
    ["Countersign_Site", "Countersign-Site"],
    ["X-Countersign-Site", "Countersign-Site"],
    ["CountersignSite", "Countersign-Site"],
    ["Countersing-Reference", "Countersign-Reference"],
    ["Contersign-Auth", "Countersign-Auth"],
    ["Countersign-", undefined],
    ["Countersign-Something-Completely-Else", undefined],
    ["X-Countersign-Something-Completely-Else", undefined],
    ["x-countersign-refrence", "Countersign-Reference"],
  ])("%s is refused; the nearest name is %s", (name, meant) => {
    const { code, status, message, causedBy } = refusalOf(() => read([name, "canary-value"]));
    expect({ code, status, causedBy }).toEqual({ code: "malformed_request", status: 400, causedBy: name });
    expect(message).toContain(`${name} is not a header that Countersign knows`);
    const all =
      "it takes Countersign-Site, Countersign-Auth, Countersign-Timeout-Ms, Countersign-Reference, Countersign-Once.";
    expect(message).toMatch(meant === undefined ? all : new RegExp(`; write ${meant}\\.$`));
    expect(message).not.toContain("canary");
  });

  it.each(["Request-Id", "outcome", "ERROR", "Attempts", "Retry-After"])(
    "Countersign-%s belongs to answers",
    (name) => {
      expect(refusalOf(() => read([`Countersign-${name}`, "x"]))).toMatchObject(
        malformed(/^Countersign-[A-Z].* is a header of Countersign's answers; leave it out of requests\.$/),
      );
    },
  );

  it("is shown shortened", () => {
    const { message } = refusalOf(() => read([`Countersign-${"x".repeat(5_000)}`, "x"]));
    expect(message.length).toBeLessThan(300);
  });
});

it("all options are read, in any casing", () => {
  const written = ["COUNTERSIGN-SITE: K1", "countersign-auth: hmac", "Countersign-Timeout-MS: 2500"];
  const options = read(...lines(...written, "Countersign-reference: A-1042"));
  expect(options).toEqual({ site: "K1", auth: "hmac", timeoutMs: 2_500, reference: "A-1042" });
});

const good = ["A", "A-1042", "a.b_c-d", "0", "x".repeat(64)];
const bad = ["", "x".repeat(65), "a\nb", "a\n"];

it.each<[name: string, value: string, read: object]>([
  ["Timeout-Ms", "100", { timeoutMs: 100 }],
  ["Timeout-Ms", "101", { timeoutMs: 101 }],
  ["Timeout-Ms", "20000", { timeoutMs: 20_000 }],
  ["Timeout-Ms", "000100", { timeoutMs: 100 }],
  ["Auth", "oauth", { auth: "oauth" }],
  ["Auth", "hmac", { auth: "hmac" }],
  ...good.map((value) => ["Reference", value, { reference: value }] as [string, string, object]),
])("Countersign-%s may be %s", (name, value, options) => {
  expect(read([`Countersign-${name}`, value])).toMatchObject(options);
});

it.each([
  ["Timeout-Ms", ["99", "20001", "１００"], "a whole number from 100 to 20000."],
  ["Auth", ["HMAC", "bearer"], "oauth or hmac."],
  ["Reference", bad, "1 to 64 of A-Z a-z 0-9 . _ -."],
])("Countersign-%s may not be %j", (name, values, allowed) => {
  for (const value of values) {
    const refusal = refusalOf(() => read([`Countersign-${name}`, value]));
    expect(refusal, value).toMatchObject(malformed(`Countersign-${name} must be ${allowed}`));
  }
});

describe("Countersign-Reference, before the options are read,", () => {
  it("is returned if it is valid, and ignored if not", () => {
    for (const value of good) expect(peekReference(["Countersign-Reference", value])).toBe(value);
    for (const value of bad) expect(peekReference(["Countersign-Reference", value]), value).toBeUndefined();
  });

  it("is ignored if it is given twice, and undefined if it is missing", () => {
    expect(peekReference([])).toBeUndefined();
    expect(peekReference(["Countersign-Reference", "a", "countersign-reference", "a"])).toBeUndefined();
  });
});

it.each([
  ["Site", "S1"],
  ["Auth", "oauth"],
  ["Timeout-Ms", "100"],
  ["Reference", "a"],
])("refuses a Countersign-%s that is given twice, even with the same value", (name, value) => {
  const twice = lines(`Countersign-${name}: ${value}`, `countersign-${name.toLowerCase()}: ${value}`);
  expect(refusalOf(() => read(...twice))).toMatchObject(
    malformed(`The header Countersign-${name} was given 2 times; send it once.`),
  );
});

describe("Idempotency-Key", () => {
  const read = (...lines: string[]) => readRequestOptions(lines, 20_000, "Idempotency-Key");

  it.each([
    ['"order-4711"', "order-4711"],
    ['"a\\"b\\\\c"', 'a"b\\c'],
    [`"${"x".repeat(255)}"`, "x".repeat(255)],
  ])("reads the string %s", (written, key) => {
    expect(read("idempotency-key", written).once).toBe(key);
    expect(read("Idempotency-Key", written, "Countersign-Site", "S1").once).toBe(key);
  });

  it.each(["order-4711", "", '""', '"a b"', '"a', '"a"b"', '"\\a"', '"a";p=1', '"é"', `"${"x".repeat(256)}"`])(
    "refuses %s",
    (written) => {
      expect(() => read("Idempotency-Key", written)).toThrow("in double quotes");
    },
  );

  it("is refused twice in a request, and together with Countersign-Once", () => {
    expect(() => read("Idempotency-Key", '"a"', "Idempotency-Key", '"a"')).toThrow("2 times");
    expect(() => read("Idempotency-Key", '"a"', "Countersign-Once", "a")).toThrow("send one of them");
  });

  it("is ignored if the environment does not use it", () => {
    expect(readRequestOptions(["Idempotency-Key", "anything"], 20_000).once).toBeUndefined();
  });
});

function malformed(message: string | RegExp) {
  return {
    code: "malformed_request",
    status: 400,
    message: typeof message === "string" ? message : expect.stringMatching(message),
  };
}
