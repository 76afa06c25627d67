import { type Document, taken, takenValue, unfit } from "./document.ts";

type Pair = readonly [written: string, arrives: string];

const zeros = (count: number) => "0".repeat(count);
const digits64 = `${"1234567890".repeat(6)}1234`;

/** Row 16: as it is written, or with the exponent expanded exactly. */
const kept: readonly Pair[] = [
  ...["0", "1", "-1", "10", "1.0", "0.0", "0.10", "-1.50", "100000", "1.00000000000000000001"].map(same),
  ...["9007199254740993", "-9007199254740993", "18446744073709551617", "12345678901234567890.10"].map(same),
  ...["0.1000000000000000055511151231257827", "3.141592653589793238462643383279"].map(same),
  ...[digits64, `-${digits64}`, `${digits64.slice(0, 32)}.${digits64.slice(32)}`].map(same),
  ...["-0 → 0", "-0.0 → 0.0", "-0e5 → 0", "0e5 → 0", "0e-3 → 0.000", "0e999999999 → 0", "0.00e1 → 0.0"].map(changed),
  ...["1e2 → 100", "1E2 → 100", "1e+2 → 100", "1e0002 → 100", "1e0 → 1", "1e-0 → 1", "-0.0e-1 → 0.00"].map(changed),
  ...["1.0e0 → 1.0", "1.0e1 → 10", "1.50e1 → 15.0", "10e-1 → 1.0", "1e-2 → 0.01", "1.50e3 → 1500"].map(changed),
  ...["-1.5E-3 → -0.0015", "123456789e-9 → 0.123456789", "9007199254740993e0 → 9007199254740993"].map(changed),
  ...["15e-3 → 0.015", "0.05e1 → 0.5", "0.05e2 → 5", "0.005e4 → 50"].map(changed),
  ...[`1e23 → 1${zeros(23)}`, `1e63 → 1${zeros(63)}`, `1e-63 → 0.${zeros(62)}1`, `5e-20 → 0.${zeros(19)}5`].map(
    changed,
  ),
];

const outOfRange: readonly string[] = [
  ...["1E400", "-1E400", "1e-400", "1e64", "1e-64", "1e999999999", "1e-999999999", "0e-999999999"],
  ...[`${digits64}5`, `0.${digits64}`, `1${zeros(400)}`, `1e${"9".repeat(400)}`, "1.7976931348623157e308", "5e-324"],
];

/** DECIMAL, number or string: two digits after the point, and never rounded (spec 5.2 rule 2). */
const amounts: readonly Pair[] = [
  ...["10 → 10.00", "10.5 → 10.50", "10.50 → 10.50", "10.500 → 10.50", "1e1 → 10.00", "1050e-2 → 10.50"].map(changed),
  ...["105000e-4 → 10.50", "0 → 0.00", "-0 → 0.00", "-0.00 → 0.00", "0.000 → 0.00", "-5 → -5.00"].map(changed),
  ...[`1e63 → 1${zeros(63)}.00`, "0.01 → 0.01", "90071992547409.93 → 90071992547409.93"].map(changed),
  ...["9007199254740993.1 → 9007199254740993.10", '"10" → 10.00', '"10.5" → 10.50'].map(changed),
  ...['"10.5000" → 10.50', '"-10.05" → -10.05', '"0" → 0.00', '"-0" → -0.00', '"-0.5" → -0.50'].map(changed),
  ...[`"${"9".repeat(100)}" → ${"9".repeat(100)}.00`, '"12345678901234567890.1" → 12345678901234567890.10'].map(
    changed,
  ),
  changed(String.raw`"\u0031\u0030\u002e5" → 10.50`),
];

const notAmounts: readonly string[] = [
  ...["10.005", "0.001", "1e-3", "10.001e0", "1.23456e2", "true", "false", '"10.005"', '"0.001"', '""', '" 10.00"'],
  ...['"10.00 "', '"10.00\\n"', '"+10"', '"010"', '"00"', '"1e1"', '"1E1"', '".5"', '"5."', '"."', '"-"', '"--1"'],
  ...['"ten"', '"10,00"', '"1,000.00"', '"1_000"', '"0x10"', '"NaN"', '"Infinity"', '"1.2.3"', '"10 EUR"', '"\u0661"'],
  ...['"\uFF11"', '"\u22121"', '"10.0\\u0000"', '"1/2"', '"10.00\u200B"', '"true"', '"null"', '"10.5e0"'],
];

const otherAmounts = ["minimum_payment_amount", "auto_pay_amount", "x_amount", "_amount"];

export const numbers: readonly Document[] = [
  ...kept.map(([written, arrives]) => takenValue(written, arrives)),
  ...outOfRange.map((written) =>
    unfit("number_out_of_range", `out of range: ${written.slice(0, 80)}`, `{"a":${written}}`),
  ),
  ...amounts.map(([written, arrives]) => takenValue(written, arrives, "order_amount")),
  ...notAmounts.map((written) => unfit("decimal_invalid", `no amount: ${written}`, `{"order_amount":${written}}`)),
  ...otherAmounts.map((name) => takenValue("7.5", "7.50", name)),
  ...otherAmounts.map((name) => unfit("decimal_invalid", `no amount: ${name}`, `{"${name}":7.555}`)),
  unfit("number_out_of_range", "an amount out of range", '{"order_amount":1e64}'),
  ...["amount", "Order_Amount", "order_amount_", "order-amount"].map((name) => takenValue('"10.005"', "10.005", name)),
  taken("what only begins like an amount is none", '{"amount_order":7.5,"order_amounts":7.555}', [
    ["amount_order", "7.5"],
    ["order_amounts", "7.555"],
  ]),
];

function same(text: string): Pair {
  return [text, text];
}

/** From `written → arrives`. */
function changed(text: string): Pair {
  const [written = "", arrives = ""] = text.split(" → ");
  return [written, arrives];
}
