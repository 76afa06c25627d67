import { describe, expect, test } from "vitest";
import { readForm, readJson } from "../../simulator/src/service/read-parameters.ts";

const latin1 = (text: string) => Buffer.from(text, "latin1");

describe("JSON", () => {
  test.each<[string, string[]]>([
    ["{}", []],
    [' \t\r\n{ "b" : "1" ,\n"a":"2"} \n', ["b: 1", "a: 2"]],
    ['{"10":"x","9":"y"}', ["10: x", "9: y"]],
    [String.raw`{"a\"b":"\\","\u0063":"\ud83d\ude00\n"}`, ['a"b: \\', "c: 😀\n"]],
    ['{"__proto__":"1","constructor":"2"}', ["__proto__: 1", "constructor: 2"]],
    ['{"a":"{\\"a\\":1,}"}', ['a: {"a":1,}']],
    ['{"":""}', [": "]],
  ])("reads %s in its order", (text, members) => {
    const reading = readJson(Buffer.from(text));
    expect(reading.ok && Array.from(reading.parameters, ([name, value]) => `${name}: ${value}`)).toEqual(members);
  });

  test.each<[string, string | Buffer]>([
    ["duplicate_parameter", '{"a":"1","a":"1"}'],
    ["duplicate_parameter", String.raw`{"a":"1","\u0061":"2"}`],
    ["duplicate_parameter", '{"__proto__":"1","__proto__":"2"}'],
    ["duplicate_parameter", '{"a":"1","a":2}'],
    ["value_not_a_string", '{"a":1}'],
    ["value_not_a_string", '{"a":null}'],
    ["value_not_a_string", '{"a":["x"]}'],
    ["value_not_a_string", '{"a":{"a":"1"}}'],
    ["body_not_json", ""],
    ["body_not_json", "[]"],
    ["body_not_json", "null"],
    ["body_not_json", '{"a":"1",}'],
    ["body_not_json", '{"a":"\n"}'],
    ["body_not_json", '\uFEFF{"a":"1"}'],
    ["body_not_json", latin1('{"a":"\xff"}')],
    ["body_not_json", latin1('{"a":"\xed\xa0\x80"}')],
    ["body_not_json", String.raw`{"a":"\ud800"}`],
    ["body_not_json", String.raw`{"\udc00":"a"}`],
    ["body_not_json", Buffer.from('{"a":"1"}', "utf16le")],
    ["body_not_json", "[".repeat(100_000)],
  ])("refuses as %s %j", (code, text) => {
    expect(readJson(Buffer.from(text))).toMatchObject({ ok: false, code });
  });

  test("reads a value of a megabyte", () => {
    const long = "x\\n".repeat(300_000);
    const reading = readJson(Buffer.from(`{"a":"${long}"}`));
    expect(reading.ok && reading.parameters.get("a")?.length).toBe(600_000);
  });
});

describe("forms", () => {
  test("reads escapes, a plus as a space, and empty values", () => {
    const reading = readForm(Buffer.from("a=1+2&b=%C3%A9%2B&c=&d"));
    expect(reading.ok && Object.fromEntries(reading.parameters)).toEqual({ a: "1 2", b: "é+", c: "", d: "" });
  });

  test.each([
    ["duplicate_parameter", "a=1&%61=2"],
    ["body_not_json", "a=%zz"],
    ["body_not_json", "a=%"],
    ["body_not_json", "a=%ff"],
  ])("refuses as %s %j", (code, text) => {
    expect(readForm(Buffer.from(text))).toMatchObject({ ok: false, code });
  });
});
