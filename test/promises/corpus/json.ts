import type { FailureCode } from "../../../src/model/errors.ts";
import { hmacSite } from "../../../testkit/simulated-sites.ts";
import { malformedTexts } from "../../unit/corpus/malformed-json.ts";
import { loneSurrogates, otherTopLevels, refusedBytes } from "../../unit/corpus/refused-json.ts";

/** A parameter as it must arrive. */
export type Sent = readonly [name: string, value: string];

/** How the proxy refuses a document: the status and the code of product and promises. */
interface Refusal {
  readonly status: 400 | 413 | 422;
  readonly code: FailureCode;
}

/** One body and its promised outcome. */
export interface Document {
  readonly name: string;
  readonly body: Uint8Array;
  /** A refusal, or the caller's own parameters as they arrive, in order. */
  readonly outcome: Refusal | readonly Sent[];
  /** The `site_identifier` that arrives, if it is not the site's own. */
  readonly identifier?: string;
}

/** A text becomes its UTF-8, a number one byte. */
function bytes(...parts: readonly (string | number)[]): Uint8Array {
  return Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from([part]))));
}

/** 400: not JSON (RFC 8259 sections 2 to 8). */
function malformed(name: string, body: string | Uint8Array): Document {
  return refused({ status: 400, code: "body_not_json" }, name, body);
}

function refused(outcome: Refusal, name: string, body: string | Uint8Array): Document {
  return { name, body: typeof body === "string" ? Buffer.from(body) : body, outcome };
}

/** 422: JSON, but with a value that may not be sent. */
function unfit(code: FailureCode, name: string, text: string): Document {
  return refused({ status: 422, code }, name, text);
}

function taken(name: string, text: string, sent: readonly Sent[]): Document {
  return { name, body: Buffer.from(text), outcome: sent };
}

/** From `name=value, name=value`. */
function pairs(text: string): Sent[] {
  return text.split(", ").map((pair) => {
    const [name = "", value = ""] = pair.split("=");
    return [name, value];
  });
}

/** One parameter: its value as written in JSON, and as it arrives. */
function takenValue(written: string, arrives: string, parameter = "a"): Document {
  const name = `${parameter}: ${written.length > 80 ? `${written.slice(0, 80)}…` : written}`;
  return taken(name, `{"${parameter}":${written}}`, [[parameter, arrives]]);
}

const inValue = (...raw: readonly number[]) => bytes('{"b":"', ...raw, '"}');

/** Bytes that are no UTF-8, or not plain UTF-8, at the borders between them. The reader's own corpus has each fault. */
const wrongEncodings: readonly Document[] = [
  malformed("UTF-16LE of letters beyond Latin-1", Buffer.from('{"b":"日本"}', "utf16le")),
  malformed("a mark behind white space", ` \uFEFF{"b":"x"}`),
  malformed("overlong: U+007F in two", inValue(0xc1, 0xbf)),
  malformed("overlong: U+07FF in three", inValue(0xe0, 0x9f, 0xbf)),
  malformed("overlong: U+FFFF in four", inValue(0xf0, 0x8f, 0xbf, 0xbf)),
  malformed("the last high surrogate", inValue(0xed, 0xaf, 0xbf)),
  malformed("the first low surrogate", inValue(0xed, 0xb0, 0x80)),
  malformed("half by escape, half by bytes", bytes('{"b":"\\ud83d', 0xed, 0xb8, 0x80, '"}')),
  malformed("F5", inValue(0xf5, 0x80, 0x80, 0x80)),
];

const asIs = (character: string) => takenValue(`"${character}"`, character);

/** The first and last characters of one, two, three and four bytes in UTF-8 arrive unchanged, never normalised. */
const rightEncodings: readonly Document[] = [
  ..."\u007F\u0080\u07FF\u0800\uD7FF\uE000\uFFFD\uFFFE\uFFFF".split("").map(asIs),
  ...["\u{10000}", "\u{10FFFF}", "a mark \uFEFF within", "\uFEFF", "e\u0301 is not \u00e9"].map(asIs),
  ...["\u212B \u00C5 A\u030A", "\u202Eright to left\u202C", "\u2028\u2029", "\uFB01 \uFF11 \u0661"].map(asIs),
  ...["\u{1F468}\u200D\u{1F469}\u200D\u{1F467}", "日本語 العربية עברית ไทย"].map(asIs),
];

const ofJavaScript = [
  "__proto__",
  "constructor",
  "prototype",
  "hasOwnProperty",
  "toString",
  "valueOf",
  "__defineGetter__",
  "toJSON",
  "then",
  "length",
  "isPrototypeOf",
  "__lookupSetter__",
  "arguments",
  "undefined",
  "null",
  "true",
  "NaN",
];

const plain = ["a", "Z", "0", "-", ".", "..", "_", "a.b-c_D9", "-1", "1.5", "1e2", "x".repeat(128), "x".repeat(256)];

const odd: readonly (readonly [what: string, name: string])[] = [
  ["empty", ""],
  ["a space", " "],
  ["a space within", "order amount"],
  ["a space behind", "a "],
  ["257 characters", "x".repeat(257)],
  ["200,000 characters", "x".repeat(200_000)],
  ["a letter beyond ASCII", "betr\u00e4g"],
  ["a Cyrillic a", "\u0430"],
  ["a fullwidth a", "\uFF41"],
  ["an emoji", "\u{1F600}"],
  ["a NUL", "a\u0000"],
  ["a line feed", "a\n"],
  ["a carriage return and a header", "a\r\nx: y"],
  ["a zero width space", "a\u200B"],
  ["a byte order mark", "\uFEFFa"],
  ["right to left", "\u202Ea"],
  ["DEL", "a\u007F"],
  ...[..."$:=&[]{}/\\,;'\"`~!@#%^*()+<>?|"].map((one) => [`the character ${one}`, `a${one}`] as const),
];

const twice: readonly string[] = [
  '{"a":"1","a":"2"}',
  '{"a":"1","a":"1"}',
  '{"a":"1","b":"2","c":"3","a":"4"}',
  String.raw`{"a":"1","\u0061":"2"}`,
  String.raw`{"\u0061":"1","a":"2"}`,
  String.raw`{"order_amount":"1.00","order\u005Famount":"2.00"}`,
  String.raw`{"order_amount":"1.00","order\u005famount":"1000000.00"}`,
  '{"order_amount":1,"order_amount":"1.00"}',
  '{"__proto__":"1","__proto__":"2"}',
  String.raw`{"__proto__":"1","\u005f\u005fproto\u005f\u005f":"2"}`,
  '{"constructor":"1","constructor":"2"}',
  '{"1":"1","1":"2"}',
  String.raw`{"1":"1","\u0031":"2"}`,
  '{"timestamp":"1","timestamp":"2"}',
  '{"signature":"1","signature":"2"}',
  '{"version":"3.0","version":"3.0"}',
  '{"site_identifier":"S1000000003","site_identifier":"S1000000003"}',
  '{"format":"1","format":"2"}',
  '{"a":"1","a":null}',
  '{"a":"1","a":{}}',
];

const names: readonly Document[] = [
  ...[...ofJavaScript, ...plain].map((name) => taken(`the name ${name}`, `{"${name}":"x"}`, [[name, "x"]])),
  taken(
    "all names of JavaScript at once, in the caller's order",
    `{${ofJavaScript.map((name, index) => `"${name}":${index}`).join(",")}}`,
    ofJavaScript.map((name, index) => [name, String(index)] as const),
  ),
  taken(
    "names that look like integers, in the caller's order",
    '{"b":"1","10":"2","9":"3","a":"4","0":"5","-1":"6"}',
    pairs("b=1, 10=2, 9=3, a=4, 0=5, -1=6"),
  ),
  taken("names that differ by case only", '{"a":"1","A":"2"}', pairs("a=1, A=2")),
  taken("names that concatenate alike", '{"foo":"bar1","foobar":"1"}', pairs("foo=bar1, foobar=1")),
  taken("a name by escapes", String.raw`{"\u006f\u0072der_type":"any"}`, [["order_type", "any"]]),
  ...odd.map(([what, name]) => unfit("name_not_allowed", `a name with ${what}`, `{${JSON.stringify(name)}:"x"}`)),
  ...twice.map((text) => refused({ status: 400, code: "duplicate_parameter" }, `twice: ${text}`, text)),
];

type Pair = readonly [written: string, arrives: string];

const zeros = (count: number) => "0".repeat(count);
const digits64 = `${"1234567890".repeat(6)}1234`;

/** A number arrives as written, or with its exponent expanded exactly. */
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
  "1E400",
  "-1E400",
  "1e-400",
  "1e64",
  "1e-64",
  "1e999999999",
  "1e-999999999",
  "0e-999999999",
  `${digits64}5`,
  `0.${digits64}`,
  `1${zeros(400)}`,
  `1e${"9".repeat(400)}`,
  "1.7976931348623157e308",
  "5e-324",
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
  "10.005",
  "0.001",
  "1e-3",
  "10.001e0",
  "1.23456e2",
  "true",
  "false",
  '"10.005"',
  '"0.001"',
  '""',
  '" 10.00"',
  '"10.00 "',
  '"10.00\\n"',
  '"+10"',
  '"010"',
  '"00"',
  '"1e1"',
  '"1E1"',
  '".5"',
  '"5."',
  '"."',
  '"-"',
  '"--1"',
  '"ten"',
  '"10,00"',
  '"1,000.00"',
  '"1_000"',
  '"0x10"',
  '"NaN"',
  '"Infinity"',
  '"1.2.3"',
  '"10 EUR"',
  '"\u0661"',
  '"\uFF11"',
  '"\u22121"',
  '"10.0\\u0000"',
  '"1/2"',
  '"10.00\u200B"',
  '"true"',
  '"null"',
  '"10.5e0"',
];

const otherAmounts = ["minimum_payment_amount", "auto_pay_amount", "x_amount", "_amount"];

const numbers: readonly Document[] = [
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
  taken(
    "a name that only looks like an amount's is none",
    '{"amount_order":7.5,"order_amounts":7.555}',
    pairs("amount_order=7.5, order_amounts=7.555"),
  ),
];

function same(text: string): Pair {
  return [text, text];
}

/** From `written → arrives`. */
function changed(text: string): Pair {
  const [written = "", arrives = ""] = text.split(" → ");
  return [written, arrives];
}

const nested: readonly string[] = [
  "{}",
  "[]",
  "[1]",
  '["x"]',
  "[[]]",
  "[{}]",
  '{"b":"c"}',
  '{"b":{}}',
  "[null]",
  "[true,false]",
  "[1e400]",
  '{"":1}',
  '{"b":1,"b":2}',
  '{"__proto__":{"x":1}}',
  '[1,"2",{"c":[3,null]}]',
  "[ ]",
  "{ }",
  '[{"a":1},{"b":[true,false,null,"x",1e5]}]',
  '{"b":{"c":{"d":[[[{"e":"f"}]]]}},"g":1}',
  `${"[".repeat(64)}${"]".repeat(64)}`,
  `${'{"b":'.repeat(64)}1${"}".repeat(64)}`,
];

const nulls: readonly string[] = [
  '{"a":null}',
  '{ "a" : null }',
  '{"a":"1","b":null}',
  '{"a":null,"b":"1"}',
  '{"order_amount":null}',
  '{"signature":null}',
  '{"timestamp":null}',
  '{"version":null}',
  '{"format":null}',
  '{"__proto__":null}',
];

const strings: readonly (readonly [written: string, arrives: string])[] = [
  ['""', ""],
  ['"plain"', "plain"],
  [String.raw`"\"\\\/\b\f\n\r\t"`, '"\\/\b\f\n\r\t'],
  [String.raw`"\u0000"`, "\u0000"],
  [String.raw`"\u0001\u001F\u007f"`, "\u0001\u001F\u007F"],
  [String.raw`"\u00e9\u00E9"`, "\u00e9\u00e9"],
  [String.raw`"\ud83d\ude00"`, "\u{1F600}"],
  [String.raw`"\uD83D\uDE00 \ud800\udc00\udbff\udfff"`, "\u{1F600} \u{10000}\u{10FFFF}"],
  [String.raw`"\ufeff\uFFFF"`, "\uFEFF\uFFFF"],
  [String.raw`"\u2028\u2029"`, "\u2028\u2029"],
  [String.raw`"\\u0041"`, String.raw`\u0041`],
  [String.raw`"\\\u0041\\"`, "\\A\\"],
  ['"/"', "/"],
  ['"1e2"', "1e2"],
  ['"-0"', "-0"],
  ['"01"', "01"],
  ['" 1 "', " 1 "],
  ['"TRUE"', "TRUE"],
  ['"null"', "null"],
  ['"{\\"a\\":[1,null]}"', '{"a":[1,null]}'],
  ['"a=b&c=d"', "a=b&c=d"],
  ['"%41%00"', "%41%00"],
  ['"<script>&amp;</script>"', "<script>&amp;</script>"],
  ['"a\\r\\nX-Injected: 1\\r\\n\\r\\n"', "a\r\nX-Injected: 1\r\n\r\n"],
  ['"   "', "   "],
  ['"customer@example.com"', "customer@example.com"],
  ["true", "true"],
  ["false", "false"],
];

const spaces: readonly string[] = [
  '{"a":"b"} ',
  '{"a":"b"}\n',
  '{"a":"b"}\r\n',
  '{"a":"b"}\t',
  ' {"a":"b"}',
  '\r\n\t{"a":"b"}',
  '{ "a":"b"}',
  '{"a" :"b"}',
  '{"a": "b"}',
  '{"a":"b" }',
  '{\n\t"a"\r:\n"b"\t}',
  `${" ".repeat(100_000)}{"a":"b"}`,
  `{"a":"b"}${"\n".repeat(100_000)}`,
  `{"a":${"\t".repeat(100_000)}"b"}`,
];

const values: readonly Document[] = [
  ...nested.map((value) => unfit("nested_value", `nested: ${value.slice(0, 80)}`, `{"a":${value}}`)),
  unfit("nested_value", "nested behind plain values", '{"a":"1","b":2,"c":[]}'),
  unfit("nested_value", "a nested timestamp", '{"timestamp":{}}'),
  unfit("nested_value", "a nested signature", '{"signature":["x"]}'),
  unfit("nested_value", "a nested prototype", '{"__proto__":{"polluted":"yes"}}'),
  unfit("nested_value", "a nested constructor", '{"constructor":{"prototype":{"polluted":"yes"}}}'),
  ...nulls.map((text) => unfit("null_value", `null: ${text}`, text)),
  ...strings.map(([written, arrives]) => takenValue(written, arrives)),
  ...spaces.map((text) => taken(`white space: ${JSON.stringify(text.slice(0, 40))}`, text, [["a", "b"]])),
  ...["{}", " {} ", "{ }", "{\n}"].map((text) => taken(`empty: ${JSON.stringify(text)}`, text, [])),
];

const dropped: readonly string[] = [
  '{"signature":"x"}',
  '{"signature":""}',
  '{"signature":1}',
  '{"signature":true}',
  '{"timestamp":"0"}',
  '{"timestamp":1700000000}',
  '{"timestamp":"tomorrow"}',
  '{"timestamp":"","signature":""}',
  '{"timestamp":1e999999999}',
  `{"signature":"${"0".repeat(64)}"}`,
  String.raw`{"\u0073ignature":"x"}`,
];

const otherVersions = ['"2.0"', '"1.8"', '"3"', "3", "3.00", '"3.0 "', '""', "true", '"v3.0"', '"4.0"', '"３.0"'];

/** The names that the proxy owns, and those that are never signed (spec 5.2 step 1), given by the caller. */
const reserved: readonly Document[] = [
  ...dropped.map((text) => taken(`dropped: ${text.slice(0, 60)}`, text, [])),
  taken(
    "timestamp and signature among others",
    '{"z":"1","timestamp":"1","a":"2","signature":"x","m":"3"}',
    pairs("z=1, a=2, m=3"),
  ),
  taken("the same version", '{"version":"3.0"}', []),
  taken("the same version as a number", '{"version":3.0}', []),
  taken("the same version with an exponent", '{"version":0.30e1}', []),
  taken("the same version among others", '{"b":"1","version":"3.0","a":"2"}', pairs("b=1, a=2")),
  ...otherVersions.map((version) => unfit("version_mismatch", `version ${version}`, `{"version":${version}}`)),
  taken("the same site", `{"site_identifier":"${hmacSite}"}`, []),
  ...["K2000000001", "K2000000002"].map((identifier) => ({
    ...taken(`the key ${identifier}`, `{"site_identifier":"${identifier}","a":"1"}`, [["a", "1"]]),
    identifier,
  })),
  unfit("site_conflict", "another site", '{"site_identifier":"S1000000001"}'),
  taken(
    "parameters that are never signed",
    '{"format":"json","call":"create_order","secret_key_name":"x"}',
    pairs("format=json, call=create_order, secret_key_name=x"),
  ),
  taken(
    "names close to the reserved ones",
    '{"Signature":"1","TIMESTAMP":"2","versions":"3","site_identifier_":"4"}',
    pairs("Signature=1, TIMESTAMP=2, versions=3, site_identifier_=4"),
  ),
];

const limitBytes = 262_144;
const tooLarge = { status: 413, code: "body_too_large" } as const;
const closed = (depth: number) => `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
const padded = (text: string, bytes: number) => text + " ".repeat(bytes - text.length);
const fill = (unit: string, start = "") => start + unit.repeat(Math.floor((limitBytes - start.length) / unit.length));

const many: readonly Sent[] = Array.from({ length: 10_000 }, (_, index) => [`p${index}`, `v${index}`]);
const members = (list: readonly Sent[]) => list.map(([name, value]) => `"${name}":"${value}"`).join(",");

/** Depth, length and number, up to the limit and beyond it. */
const sizes: readonly Document[] = [
  ...[5_000, 5_001, 10_000, 50_000, 131_069].map((depth) => malformed(`${depth} arrays, closed`, closed(depth))),
  ...[5_000, 20_000, 43_690].map((depth) => malformed(`${depth} objects, closed`, objects(depth))),
  malformed("5,000 arrays, open", `{"a":${"[".repeat(5_000)}`),
  malformed("5,000 arrays, closed once too often", `{"a":${"[".repeat(5_000)}${"]".repeat(5_001)}}`),
  malformed("5,000 arrays at the top level", `${"[".repeat(5_000)}${"]".repeat(5_000)}`),
  malformed("arrays and objects by turns", `{"a":${'[{"b":'.repeat(5_000)}1${"}]".repeat(5_000)}}`),
  ...["[", "{", '{"":', '"', "1", " "].map((unit) => malformed(`nothing but ${unit}`, fill(unit))),
  malformed("nothing but backslashes in a string", fill("\\", '{"a":"')),
  malformed("a string that never ends", fill("x", '{"a":"')),
  malformed("an array that never ends", fill("1,", '{"a":[')),

  taken("exactly the limit", padded('{"a":"b"}', limitBytes), [["a", "b"]]),
  refused(tooLarge, "one byte more than the limit", padded('{"a":"b"}', limitBytes + 1)),
  refused(tooLarge, "one digit more than the limit", "1".repeat(limitBytes + 1)),
  refused(tooLarge, "arrays nested deeper than the limit of bytes allows", closed(131_070)),
  refused(tooLarge, "objects nested deeper than the limit of bytes allows", objects(50_000)),
  refused(tooLarge, "1 MiB of one string", `{"a":"${"x".repeat(1_048_576)}"}`),
  refused(tooLarge, "bad bytes beyond the limit", new Uint8Array(300_000).fill(0x80)),

  taken("a value of 250,000 letters", `{"a":"${"x".repeat(250_000)}"}`, [["a", "x".repeat(250_000)]]),
  taken("a value of 40,000 escapes", `{"a":"${"\\u0061".repeat(40_000)}"}`, [["a", "a".repeat(40_000)]]),
  taken("10,000 members", `{${members(many)}}`, many),
  refused(
    { status: 400, code: "duplicate_parameter" },
    "10,000 members, the first again at the end",
    `{${members(many)},"p0":"v0"}`,
  ),
  unfit("null_value", "10,000 members and a null", `{${members(many)},"n":null}`),
  malformed("10,000 members and no end", `{${members(many)}`),
  unfit("number_out_of_range", "250,000 digits", `{"a":${"1".repeat(250_000)}}`),
  unfit("number_out_of_range", "250,000 digits behind the point", `{"a":0.${"1".repeat(250_000)}}`),
  unfit("number_out_of_range", "250,000 digits of an exponent", `{"a":1e${"1".repeat(250_000)}}`),
  unfit("nested_value", "an array of 100,000 numbers", `{"a":[${"1,".repeat(100_000)}1]}`),
];

const forbidden = [
  ..." !\"#$%&'()*+,/:;<=>?@[\\]^`{|}~\u007F\u0080\u00e9\u0131\u017F\u0410\u0661\u212A\u3042\uFF11",
  "\u0000",
  "\t",
  "\n",
  "\r",
  "\u001B",
  "\u{1F600}",
  "\u200B",
  "\uFEFF",
  "e\u0301",
  "\u2212",
  "\u2024",
  "\u2010",
];

/** Spec 5.2 rule 3, at a site that enforces it: all characters in a signed value except letters, digits, - _ and . */
const forbiddenCharacters: readonly Document[] = [
  ...forbidden.map((one) =>
    unfit("character_not_allowed", `the character ${JSON.stringify(one)}`, `{"a":${JSON.stringify(`x${one}y`)}}`),
  ),
  unfit("character_not_allowed", "a space at the end", '{"site_customer_identifier":"customer_1 "}'),
  unfit("character_not_allowed", "a space alone", '{"site_customer_identifier":" "}'),
  unfit("character_not_allowed", "an e-mail address behind allowed values", '{"a":"1","b":2,"c":"a@b.example"}'),
  taken("every allowed character", '{"a":"ABCxyz0189-_."}', [["a", "ABCxyz0189-_."]]),
  taken("an empty value", '{"empty":""}', [["empty", ""]]),
  taken("numbers and booleans", '{"n":-1.50,"t":true,"f":false}', pairs("n=-1.50, t=true, f=false")),
  taken(
    "any character in parameters that are never signed",
    '{"format":"a b@c \u00e9","call":"\u{1F600}"}',
    pairs("format=a b@c \u00e9, call=\u{1F600}"),
  ),
  taken(
    "any character in parameters that are dropped",
    '{"signature":"a b","timestamp":"\u00e9","b":"1"}',
    pairs("b=1"),
  ),
];

/** The documents of the reader's own tests must have the same outcome over the wire. */
const ofTheReader: readonly Document[] = [
  ...malformedTexts.map((text) => malformed(JSON.stringify(text), text)),
  ...refusedBytes.map(([fault, body]) => malformed(fault, body)),
  ...loneSurrogates.map(([fault, text]) => malformed(`half of a pair: ${fault}`, text)),
  ...otherTopLevels.map(([text]) => malformed(`no object: ${text}`, text)),
];

/** By a site's setting `characters`. */
export const documents = {
  off: [...ofTheReader, ...wrongEncodings, ...rightEncodings, ...numbers, ...names, ...values, ...reserved, ...sizes],
  reject: forbiddenCharacters,
} as const satisfies Record<string, readonly Document[]>;
