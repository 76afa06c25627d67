/** `traceparent` and `tracestate` by W3C Trace Context level 1. */
import { describe, expect, it } from "vitest";
import { formatTraceParent, readTraceParent, readTraceState } from "../../src/http/trace-context.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";

describe("traceparent", () => {
  it.each([
    [`00-${traceId}-${spanId}-01`, true],
    [`00-${traceId}-${spanId}-00`, false],
    // The other flags are ignored.
    [`00-${traceId}-${spanId}-fe`, false],
    [`00-${traceId}-${spanId}-ff`, true],
    // A later version: only the fields of version 00 are read.
    [`cc-${traceId}-${spanId}-01`, true],
    [`cc-${traceId}-${spanId}-01-what-comes-later`, true],
  ])("%s is read", (text, isSampled) => {
    expect(readTraceParent(["TraceParent", text])).toEqual({ traceId, spanId, isSampled });
  });

  it.each([
    "",
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${traceId}-${spanId}-01-`,
    `cc-${traceId}-${spanId}-01.more`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${"0".repeat(32)}-${spanId}-01`,
    `00-${traceId}-${"0".repeat(16)}-01`,
    `00-${traceId.slice(1)}-${spanId}-01`,
    `00-${traceId}-${spanId}-1`,
    `00-${traceId}-${spanId}-0g`,
    ` 00-${traceId}-${spanId}-01`,
  ])("%j is not", (text) => {
    expect(readTraceParent(["traceparent", text])).toBeUndefined();
  });

  it("is ignored if it is given twice", () => {
    const text = `00-${traceId}-${spanId}-01`;
    expect(readTraceParent(["traceparent", text, "traceparent", text])).toBeUndefined();
  });

  it("is written as version 00", () => {
    expect(formatTraceParent({ traceId, spanId, isSampled: true })).toBe(`00-${traceId}-${spanId}-01`);
    expect(formatTraceParent({ traceId, spanId, isSampled: false })).toBe(`00-${traceId}-${spanId}-00`);
  });
});

describe("tracestate", () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => `k${n}=v`).join(",");

  it.each([
    ["a=1", "a=1"],
    ["a=1 , b=2,,\t0tenant@vendor=x:y;z", "a=1,b=2,0tenant@vendor=x:y;z"],
    [many(32), many(32)],
    [`a=${"x".repeat(256)}`, `a=${"x".repeat(256)}`],
  ])("%j passes", (text, passed) => {
    expect(readTraceState(["tracestate", text])).toBe(passed);
  });

  it("passes from several lines as one list", () => {
    expect(readTraceState(["tracestate", "a=1", "other", "x", "TraceState", "b=2"])).toBe("a=1,b=2");
  });

  it.each([
    "",
    ",",
    "a",
    "=1",
    "A=1",
    "a=",
    "a=1,a=2",
    "a=é",
    "a=1=2",
    many(33),
    `a=${"x".repeat(257)}`,
    `${many(31)},${"k".repeat(400)}=v`,
  ])("%j does not", (text) => {
    expect(readTraceState(["tracestate", text])).toBeUndefined();
  });
});
