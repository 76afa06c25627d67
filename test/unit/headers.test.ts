/** Which header lines are passed on in either direction. */
import { describe, expect, it } from "vitest";
import { connectionOptions, firstOf, nameAmong, one, valuesOf } from "../../src/http/headers.ts";
import { headersUpstream } from "../../src/orders/enrich.ts";
import { type HeaderLine, lines } from "./header-line.ts";

const json = ["accept: application/json", "content-type: application/json"];

describe("the header lines sent upstream", () => {
  const upstream = (headers: readonly HeaderLine[], environment = { forwardHeaders: [] as string[], via: true }) =>
    headersUpstream(headers.flat(), environment, "id-1");

  it("include each line that may pass, with its name in lower case, its value unchanged, in order, and as often as received", () => {
    const theirs = [
      "TraceState: b=2",
      "USER-AGENT: Shop/1.0 (x;  y)",
      "X-Request-Id: theirs",
      "tracestate: a=1",
      "Accept-Language: de, en;q=0.5",
      "traceparent: 00-x",
    ];
    const passed = [
      "tracestate: b=2",
      "user-agent: Shop/1.0 (x;  y)",
      "x-request-id: theirs",
      "tracestate: a=1",
      "accept-language: de, en;q=0.5",
      "traceparent: 00-x",
    ];
    expect(upstream(lines(...theirs))).toEqual(lines(...json, ...passed, "via: 1.1 countersign").flat());
  });

  it("include the headers that forwardHeaders adds, except hop-by-hop ones", () => {
    const environment = { forwardHeaders: ["x-tenant", "upgrade", "connection", "te"], via: false };
    const headers = lines("X-Tenant: a", "Upgrade: h2c", "TE: trailers", "Connection: keep-alive");
    expect(upstream(headers, environment)).toEqual(lines(...json, "x-tenant: a", "x-request-id: id-1").flat());
  });
});

describe("a name in a list", () => {
  const names = ["user-agent", "tracestate", "1"];

  it("is found whatever its casing, and returned as written in the list", () => {
    expect(nameAmong(names, "User-AGENT")).toBe("user-agent");
    expect(nameAmong(names, "tracestate")).toBe("tracestate");
    expect(nameAmong(names, "1")).toBe("1");
  });

  it.each(["user-agents", "connection", "user-agen", "", undefined])("is not found for %j", (given) => {
    expect(nameAmong(names, given)).toBeUndefined();
    expect(nameAmong([], given)).toBeUndefined();
  });
});

it.each([
  [[], []],
  [["Connection", "keep-alive"], ["keep-alive"]],
  [["Connection", "Keep-Alive"], ["keep-alive"]],
  [
    ["connection", "keep-alive, X-A", "Connection", " x-b"],
    ["keep-alive", "x-a", "x-b"],
  ],
])("the options of Connection of %j are %j", (headers, options) => {
  expect(connectionOptions(headers)).toEqual(options);
});

describe("the values of a header", () => {
  const headers = ["A", "1", "b", "2", "a", "", "AA", "4", "1", "A"];

  it("are all of them, in order, whatever the casing", () => {
    expect(valuesOf(headers, "a")).toEqual(["1", ""]);
    expect(valuesOf(headers, "c")).toEqual([]);
    expect(valuesOf(headers, "2")).toEqual([]);
  });

  it("have a first one, and a single one only if the header is not repeated", () => {
    expect([firstOf(headers, "a"), one(headers, "a")]).toEqual(["1", undefined]);
    expect([firstOf(headers, "b"), one(headers, "b")]).toEqual(["2", "2"]);
    expect([firstOf(headers, "4"), one(headers, "4")]).toEqual([undefined, undefined]);
  });
});
