import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expandNumber, toTwoDigits } from "../../src/parameters/signature.ts";
import { cpuMsOf } from "../../testkit/cpu-time.ts";

const zeros = (count: number) => "0".repeat(count);
const nines = (count: number) => "9".repeat(count);

describe("a number is written out exactly", () => {
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
  ])("accepts at most 64 digits: %s", (_, longest, tooLong) => {
    expect(expandNumber(longest)?.replace(/[-.]/g, "")).toMatch(/^\d{1,64}$/);
    expect(expandNumber(tooLong)).toBeUndefined();
  });

  it.each([
    "1E400",
    "1e999999999",
    "-1e999999999",
    "1e-999999999",
    "0e-999999999",
    `1e${nines(5_000)}`,
    `1e-${nines(5_000)}`,
    `1.${zeros(250_000)}`,
    `${nines(250_000)}`,
    `0.${zeros(250_000)}1`,
    `1e${nines(250_000)}`,
  ])("decides about a huge one without building it: case %#", (text) => {
    const tookMs = cpuMsOf(() => expect(expandNumber(text)).toBeUndefined());
    expect(tookMs).toBeLessThan(200);
  });

  it.each(["", "-", "01", "1.", ".5", "+1", "1e", "0x10", "NaN", "Infinity", " 1", "1 ", "1\n", "1,5"])(
    "accepts only a JSON number: %j",
    (text) => {
      expect(expandNumber(text)).toBeUndefined();
    },
  );

  it("keeps the value and the decimal places of any number, checked by integer arithmetic", () => {
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
  it.each([`1.${zeros(250_000)}`, `1.${zeros(250_000)}1`, `${nines(250_000)}x`, `1.${nines(250_000)}`])(
    "takes time in proportion to its length: case %#",
    (text) => {
      expect(cpuMsOf(() => void toTwoDigits(text))).toBeLessThan(200);
    },
  );
});
