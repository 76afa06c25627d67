import { type Document, malformed, refused, type Sent, taken, unfit } from "./document.ts";

const limitBytes = 262_144;
const tooLarge = { status: 413, code: "body_too_large" } as const;
const closed = (depth: number) => `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`;
const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
const padded = (text: string, bytes: number) => text + " ".repeat(bytes - text.length);
const fill = (unit: string, start = "") => start + unit.repeat(Math.floor((limitBytes - start.length) / unit.length));

const many: readonly Sent[] = Array.from({ length: 10_000 }, (_, index) => [`p${index}`, `v${index}`]);
const members = (list: readonly Sent[]) => list.map(([name, value]) => `"${name}":"${value}"`).join(",");

/** Rows 9 and 17: depth, length and number, up to what the limit holds, and beyond it. */
export const sizes: readonly Document[] = [
  ...[5_000, 5_001, 10_000, 50_000, 131_069].map((depth) => malformed(`${depth} arrays, closed`, closed(depth))),
  ...[5_000, 20_000, 43_690].map((depth) => malformed(`${depth} objects, closed`, objects(depth))),
  malformed("5,000 arrays, open", `{"a":${"[".repeat(5_000)}`),
  malformed("5,000 arrays, closed once too often", `{"a":${"[".repeat(5_000)}${"]".repeat(5_001)}}`),
  malformed("5,000 arrays at the top level", `${"[".repeat(5_000)}${"]".repeat(5_000)}`),
  malformed("arrays and objects by turns", `{"a":${'[{"b":'.repeat(5_000)}1${"}]".repeat(5_000)}}`),
  malformed("nothing but [", fill("[")),
  malformed("nothing but {", fill("{")),
  malformed('nothing but {"":', fill('{"":')),
  malformed("nothing but quotes", fill('"')),
  malformed("nothing but backslashes in a string", fill("\\", '{"a":"')),
  malformed("nothing but digits", fill("1")),
  malformed("nothing but white space", fill(" ")),
  malformed("a string that never ends", fill("x", '{"a":"')),
  malformed("an array that never ends", fill("1,", '{"a":[')),

  taken("exactly the limit", padded('{"a":"b"}', limitBytes), [["a", "b"]]),
  refused(tooLarge, "one byte more than the limit", padded('{"a":"b"}', limitBytes + 1)),
  refused(tooLarge, "one digit more than the limit", "1".repeat(limitBytes + 1)),
  refused(tooLarge, "deeper than the limit holds", closed(131_070)),
  refused(tooLarge, "objects deeper than the limit holds", objects(50_000)),
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
