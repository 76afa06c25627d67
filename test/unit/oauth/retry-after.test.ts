import { describe, expect, it } from "vitest";
import { retryAfterMs } from "../../../src/http/date.ts";

const wallMs = Date.UTC(2026, 10, 21, 12, 0, 0);
const date = (offsetSeconds: number) => new Date(wallMs + offsetSeconds * 1_000).toUTCString();

describe("Retry-After", () => {
  it.each([
    { value: undefined, expected: undefined },
    { value: "7", expected: 7_000 },
    { value: " 7 ", expected: 7_000 },
    { value: "0", expected: 1_000 },
    { value: "86400", expected: 86_400_000 },
    { value: "99999999999999999999", expected: 86_400_000 },
    { value: "-1", expected: undefined },
    { value: "1.5", expected: undefined },
    { value: "soon", expected: undefined },
    { value: "", expected: undefined },
    { value: "0x10", expected: undefined },
    { value: "2026-11-21", expected: undefined },
    { value: date(30), expected: 30_000 },
    { value: date(-30), expected: 1_000 },
    { value: date(200_000), expected: 86_400_000 },
    { value: "Sat, 99 Nov 2026 12:00:00 GMT", expected: undefined },
  ])("$value is $expected ms", ({ value, expected }) => {
    expect(retryAfterMs(value, undefined, wallMs)).toBe(expected);
  });

  it("measures a date against the answer's own Date, not against a wrong clock", () => {
    expect(retryAfterMs(date(30), date(20), wallMs + 600_000)).toBe(10_000);
  });
});
