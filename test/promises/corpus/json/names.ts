import { type Document, refused, taken, unfit } from "./document.ts";

const ofJavaScript = [
  ...["__proto__", "constructor", "prototype", "hasOwnProperty", "toString", "valueOf", "__defineGetter__", "toJSON"],
  ...["then", "length", "isPrototypeOf", "__lookupSetter__", "arguments", "undefined", "null", "true", "NaN"],
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

/** Row 15. */
export const names: readonly Document[] = [
  ...[...ofJavaScript, ...plain].map((name) => taken(`the name ${name}`, `{"${name}":"x"}`, [[name, "x"]])),
  taken(
    "all names of JavaScript at once, in the caller's order",
    `{${ofJavaScript.map((name, index) => `"${name}":${index}`).join(",")}}`,
    ofJavaScript.map((name, index) => [name, String(index)] as const),
  ),
  taken("names that look like integers, in the caller's order", '{"b":"1","10":"2","9":"3","a":"4","0":"5","-1":"6"}', [
    ..."b 10 9 a 0 -1".split(" ").map((name, index) => [name, String(index + 1)] as const),
  ]),
  taken("names told apart by case", '{"a":"1","A":"2"}', [
    ["a", "1"],
    ["A", "2"],
  ]),
  taken("names that concatenate alike", '{"foo":"bar1","foobar":"1"}', [
    ["foo", "bar1"],
    ["foobar", "1"],
  ]),
  taken("a name by escapes", String.raw`{"\u006f\u0072der_type":"any"}`, [["order_type", "any"]]),
  ...odd.map(([what, name]) => unfit("name_not_allowed", `a name with ${what}`, `{${JSON.stringify(name)}:"x"}`)),
  ...twice.map((text) => refused({ status: 400, code: "duplicate_parameter" }, `twice: ${text}`, text)),
];
