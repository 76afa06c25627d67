import fc from "fast-check";

/** Names that have caused errors in other programs, and common names. */
const knownNames = [
  "order_amount",
  "minimum_payment_amount",
  "auto_pay_amount",
  "order_currency",
  "site_customer_identifier",
  "order_type",
  "order_is_standing",
  "format",
  "call",
  "signature",
  "timestamp",
  "__proto__",
  "constructor",
  "toString",
  "0",
  "10",
  "9",
  "-1",
  "a",
  "A",
  "B",
  "_",
  ".",
  "foo",
  "foobar",
  "secret_keys",
] as const;
const nameCharacters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"];
const trickyUnits = [...'"\\/\n\t\u0000\u007F\u00e9\u2028\uFEFF\uFFFF\u{1F600}'];

const name = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...knownNames) },
  { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom(...nameCharacters), minLength: 1, maxLength: 16 }) },
);
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ unit: "grapheme-ascii", maxLength: 20 }),
  fc.string({ unit: fc.constantFrom(...trickyUnits, ...nameCharacters.slice(0, 12)), maxLength: 12 }),
  fc.constantFrom("", "true", "null", "1e2", "-0", '{"a":[1,null]}', "a=b&c=d", " padded "),
);

const digits = fc.bigInt({ min: 0n, max: 10n ** 30n }).map(String);
const fewDigits = fc.integer({ min: 0, max: 1_000_000 }).map(String);
const whole = fc.oneof(digits, fewDigits, fc.constantFrom("0", "9007199254740993"));
const fraction = fc.oneof(
  fc.constant(""),
  fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: 8 }),
);
const exponent = fc.constantFrom("", "", "", "e0", "E1", "e+2", "e-2", "E+03", "e-10", "e12");
const minus = fc.constantFrom("", "", "-");
const number = fc.tuple(minus, whole, fraction, exponent).map(([sign, before, after, power]) => {
  return `${sign}${before}${after === "" ? "" : `.${after}`}${power}`;
});

/** A valid amount: no third decimal place except 0. */
const plainAmount = fc
  .tuple(minus, fc.oneof(digits, fewDigits), fc.constantFrom("", ".5", ".05", ".10", ".99", ".2500", ".00"))
  .map(([sign, before, after]) => (/^0*$/.test(before) ? `${before}${after}` : `${sign}${before}${after}`));
const amount = fc.oneof(
  plainAmount,
  plainAmount.map((plain) => `"${plain}"`),
  fc.constantFrom("1e1", "1050e-2", "-0", "0e5", "-0.0", "1.5E+2", "9007199254740993.10"),
);

/** Ways to write a string: as short as possible, all in escapes, or with optional escapes. */
const style = fc.constantFrom<(plain: string) => string>(
  JSON.stringify,
  JSON.stringify,
  (plain) => `"${plain.replace(/[\s\S]/g, escapeUnit)}"`,
  (plain) =>
    JSON.stringify(plain)
      .replaceAll("/", "\\/")
      .replace(/[^\x20-\x7e]/g, escapeUnit),
);
const literal = fc.tuple(style, text).map(([write, plain]) => write(plain));
const value = fc.oneof(
  { weight: 4, arbitrary: literal },
  { weight: 3, arbitrary: number },
  { weight: 1, arbitrary: fc.constantFrom("true", "false") },
);
const space = fc.constantFrom("", "", "", " ", "\n", "\t", "\r\n  ");

const member = fc.tuple(name, style, value, amount, space, space);

/** JSON texts of one flat object that the proxy accepts, in every way of writing that JSON allows. */
export const bodies: fc.Arbitrary<string> = fc
  .tuple(fc.uniqueArray(member, { selector: ([key]) => key, minLength: 1, maxLength: 10 }), space)
  .map(([members, outer]) => {
    const parts = members.map(([key, write, plain, money, before, after]) => {
      return `${before}${write(key)}${after}:${before}${key.endsWith("_amount") ? money : plain}${after}`;
    });
    return `${outer}{${outer}${parts.join(",")}}${outer}`;
  });

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
