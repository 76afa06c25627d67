import { type Document, taken, takenValue, unfit } from "./document.ts";

const nested: readonly string[] = [
  ...["{}", "[]", "[1]", '["x"]', "[[]]", "[{}]", '{"b":"c"}', '{"b":{}}', "[null]", "[true,false]", "[1e400]"],
  ...['{"":1}', '{"b":1,"b":2}', '{"__proto__":{"x":1}}', '[1,"2",{"c":[3,null]}]', "[ ]", "{ }"],
  ...['[{"a":1},{"b":[true,false,null,"x",1e5]}]', '{"b":{"c":{"d":[[[{"e":"f"}]]]}},"g":1}'],
  ...[`${"[".repeat(64)}${"]".repeat(64)}`, `${'{"b":'.repeat(64)}1${"}".repeat(64)}`],
];

const nulls: readonly string[] = [
  ...['{"a":null}', '{ "a" : null }', '{"a":"1","b":null}', '{"a":null,"b":"1"}', '{"order_amount":null}'],
  ...['{"signature":null}', '{"timestamp":null}', '{"version":null}', '{"format":null}', '{"__proto__":null}'],
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
  ...['{"a":"b"} ', '{"a":"b"}\n', '{"a":"b"}\r\n', '{"a":"b"}\t', ' {"a":"b"}', '\r\n\t{"a":"b"}', '{ "a":"b"}'],
  ...['{"a" :"b"}', '{"a": "b"}', '{"a":"b" }', '{\n\t"a"\r:\n"b"\t}', `${" ".repeat(100_000)}{"a":"b"}`],
  ...[`{"a":"b"}${"\n".repeat(100_000)}`, `{"a":${"\t".repeat(100_000)}"b"}`],
];

export const values: readonly Document[] = [
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
