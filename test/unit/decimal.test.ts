import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expandNumber, toTwoDigits } from "../../src/signing/parameter-rules.ts";
import { cpuMsOf } from "../../testkit/cpu-time.ts";

const zeros = (count: number) => "0".repeat(count);
const nines = (count: number) => "9".repeat(count);

describe("a number is written out exactly (row 16)", () => {
  it.each([
    // as it is
    ["0", "0"],
    ["1", "1"],
    ["-1", "-1"],
    ["1.0", "1.0"],
    ["100.00", "100.00"],
    ["9007199254740993", "9007199254740993"],
    ["12345678901234567890.10", "12345678901234567890.10"],
    ["0.1", "0.1"],
    ["-0.10", "-0.10"],
    // the point moves right
    ["1e2", "100"],
    ["1E2", "100"],
    ["1e+2", "100"],
    ["1.50e1", "15.0"],
    ["1.50e2", "150"],
    ["1.50e3", "1500"],
    ["-1.5e1", "-15"],
    ["1e0", "1"],
    ["1.5e0", "1.5"],
    ["1e00002", "100"],
    // the point moves left
    ["1e-3", "0.001"],
    ["15e-1", "1.5"],
    ["15e-2", "0.15"],
    ["15e-3", "0.015"],
    ["-15e-3", "-0.015"],
    ["100e-2", "1.00"],
    ["1.50e-1", "0.150"],
    ["1e-0", "1"],
    // leading zeros go
    ["0.5e1", "5"],
    ["0.05e1", "0.5"],
    ["0.05e2", "5"],
    ["0.005e1", "0.05"],
    ["0.005e4", "50"],
    // a zero has no minus
    ["-0", "0"],
    ["-0.0", "0.0"],
    ["-0.00", "0.00"],
    ["-0e5", "0"],
    ["0e5", "0"],
    ["0.0e5", "0"],
    ["0.00e1", "0.0"],
    ["0e-2", "0.00"],
    ["-0.0e-1", "0.00"],
    ["0e999999999", "0"],
    [`0e${nines(5_000)}`, "0"],
  ])("%s is %s", (text, expanded) => {
    expect(expandNumber(text)).toBe(expanded);
  });

  it.each([
    ["whole digits", nines(64), nines(65)],
    ["whole digits, negative", `-${nines(64)}`, `-${nines(65)}`],
    ["digits on both sides", `${nines(32)}.${nines(32)}`, `${nines(32)}.${nines(33)}`],
    ["an exponent to the right", "1e63", "1e64"],
    ["an exponent to the left", "1e-63", "1e-64"],
    ["a zero with an exponent to the left", "0e-63", "0e-64"],
    ["leading zeros that go", `0.${zeros(70)}1e71`, `0.${zeros(70)}1e135`],
    ["zeros behind the point, which count", `1.${zeros(63)}`, `1.${zeros(64)}`],
    ["two digits and an exponent", "1.2e63", "1.2e64"],
  ])("takes at most 64 digits: %s", (_, longest, tooLong) => {
    expect(expandNumber(longest)?.replace(/[-.]/g, "")).toMatch(/^\d{1,64}$/);
    expect(expandNumber(tooLong)).toBeUndefined();
  });

  it.each([
    ...["1E400", "1e999999999", "-1e999999999", "1e-999999999", "0e-999999999", `1e${nines(5_000)}`],
    ...[`1e-${nines(5_000)}`, `1.${zeros(250_000)}`, `${nines(250_000)}`, `0.${zeros(250_000)}1`],
    ...[`1e${nines(250_000)}`],
  ])("decides about a huge one without building it: case %#", (text) => {
    const tookMs = cpuMsOf(() => expect(expandNumber(text)).toBeUndefined());
    expect(tookMs).toBeLessThan(200);
  });

  it.each(["", "-", "01", "1.", ".5", "+1", "1e", "0x10", "NaN", "Infinity", " 1", "1 ", "1\n", "1,5"])(
    "takes nothing but a JSON number: %j",
    (text) => {
      expect(expandNumber(text)).toBeUndefined();
    },
  );

  it("keeps the value and the places of any number, by integer arithmetic", () => {
    const digits = fc.string({ unit: fc.constantFrom(..."0123456789"), maxLength: 30 });
    const whole = digits.map((text) => text.replace(/^0+/, "") || "0");
    fc.assert(
      fc.property(
        fc.boolean(),
        whole,
        digits,
        fc.integer({ min: -80, max: 80 }),
        (isNegative, left, right, exponent) => {
          const text = `${isNegative ? "-" : ""}${left}${right === "" ? "" : `.${right}`}e${exponent}`;
          const places = Math.max(0, right.length - exponent);
          const unscaled = BigInt(left + right) * 10n ** BigInt(Math.max(0, exponent - right.length));
          const result = expandNumber(text);
          const length = Math.max(unscaled.toString().length, places + 1);
          if (length > 64) {
            expect(result).toBeUndefined();
            return;
          }
          const [shownWhole = "", shownFraction = ""] = (result ?? "").replace("-", "").split(".");
          expect(shownWhole).toMatch(/^(0|[1-9]\d*)$/);
          expect(shownFraction.length).toBe(places);
          expect(BigInt(shownWhole + shownFraction)).toBe(unscaled);
          expect(result?.startsWith("-")).toBe(isNegative && unscaled !== 0n);
        },
      ),
      { numRuns: 5_000 },
    );
  });
});

describe("an amount has two digits after the point, and is never rounded (spec 5.2 rule 2)", () => {
  it.each([
    ["0", "0.00"],
    ["10", "10.00"],
    ["10.5", "10.50"],
    ["10.50", "10.50"],
    ["10.500", "10.50"],
    ["10.50000000", "10.50"],
    ["10.05", "10.05"],
    ["0.00", "0.00"],
    ["0.000", "0.00"],
    ["-1", "-1.00"],
    ["-0.5", "-0.50"],
    ["-0", "-0.00"],
    ["-0.00", "-0.00"],
    ["12345678901234567890.1", "12345678901234567890.10"],
    [nines(100), `${nines(100)}.00`],
  ])("%s is %s", (text, amount) => {
    expect(toTwoDigits(text)).toBe(amount);
  });

  it.each([
    ...["10.005", "10.001", "10.0000001", "0.009", "-0.001", "10.999"],
    ...["", " ", "-", ".", "10.", ".5", "+10", "--1", "010", "00", "-01", "1e2", "1E2", "10.5e0", "0x10", "1_000"],
    ...["1,000.00", "10,50", "10.5.0", " 10", "10 ", "10.50\n", "€10", "10 EUR", "true", "null", "NaN", "Infinity"],
    ...["١٠", "１０", "−10"],
  ])("refuses %j", (text) => {
    expect(toTwoDigits(text)).toBeUndefined();
  });

  it.each([`1.${zeros(250_000)}`, `1.${zeros(250_000)}1`, `${nines(250_000)}x`, `1.${nines(250_000)}`])(
    "takes its time in proportion: case %#",
    (text) => {
      expect(cpuMsOf(() => void toTwoDigits(text))).toBeLessThan(200);
    },
  );
});
