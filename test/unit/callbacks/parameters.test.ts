/** How a callback's parameters are read: exactly, or not at all. */
import { describe, expect, it } from "vitest";
import { formOf, queryOf, readCallback } from "../../../src/callbacks/parameters.ts";
import { refusalOf } from "../refusal-of.ts";

const none = new Uint8Array();
const read = (form: "json" | "form" | "query", body: string | Uint8Array, query?: string) =>
  Object.fromEntries(readCallback(form, query, typeof body === "string" ? Buffer.from(body) : body));

const codeOf = (attempt: () => unknown) => refusalOf(attempt).code;
const causeOf = (attempt: () => unknown) => refusalOf(attempt).causedBy;

describe("a form", () => {
  it.each<[string, Record<string, string>]>([
    ["a=1&b=2", { a: "1", b: "2" }],
    ["a=x+y%20z", { a: "x y z" }],
    ["a=%2B%26%3D", { a: "+&=" }],
    ["a=%e2%82%ac", { a: "€" }],
    ["a==b=c", { a: "=b=c" }],
    ["a&b=", { a: "", b: "" }],
    ["", {}],
    ["&a=1&", { a: "1" }],
    ["%61=1", { a: "1" }],
    ["__proto__=1", JSON.parse('{"__proto__":"1"}')],
  ])("%s", (text, expected) => {
    expect(read("form", text)).toEqual(expected);
    expect(read("query", none, text)).toEqual(expected);
  });

  it.each([
    ["half an escape", "a=%4"],
    ["no escape", "a=%zz"],
    ["an overlong sequence", "a=%c0%af"],
    ["a lone surrogate", "a=%ed%a0%80"],
    ["a cut sequence", "a=%e2%82"],
    ["a raw space", "a=x y"],
    ["a raw quote", 'a="x"'],
    ["a semicolon, which some parsers take for a separator", "a=1;b=2"],
    ["a line break", "a=1\r\n"],
    ["a raw letter beyond ASCII", "a=é"],
    ["a NUL", "a=\0"],
  ])("is refused with %s", (_, text) => {
    expect(codeOf(() => read("form", text))).toBe("malformed_request");
    expect(codeOf(() => read("query", none, text))).toBe("malformed_request");
  });
});

describe("a value that the signature does not distinguish from another is refused (more in refuses-forged-callbacks)", () => {
  it.each<[string, "json" | "form", string, string]>([
    ["a name given twice by escapes", "form", "a=1&%61=2", "duplicate_parameter"],
    ["an escaped list", "form", "a%5B0%5D=1", "nested_value"],
    ["an empty name", "form", "=1", "name_not_allowed"],
    ["a name with a space, which PHP makes another name of", "form", "a+b=1", "name_not_allowed"],
    ["a name given twice", "json", '{"a":"1","a":"2"}', "duplicate_parameter"],
    ["a name given twice by escapes", "json", '{"a":"1","\\u0061":"2"}', "duplicate_parameter"],
    ["a list for a body", "json", "[]", "body_not_json"],
  ])("%s in %s: %s", (_, form, body, code) => {
    expect(codeOf(() => read(form, body))).toBe(code);
  });
});

it("the parameters are those of the query and those of the body together", () => {
  expect(read("json", '{"b":"2"}', "a=1")).toEqual({ a: "1", b: "2" });
  expect(read("form", "b=2", "a=1")).toEqual({ a: "1", b: "2" });
});

it("a number and a boolean of JSON are read as they are written", () => {
  expect(read("json", '{"a":1.50,"b":true,"c":12345678901234567890}')).toEqual({
    a: "1.50",
    b: "true",
    c: "12345678901234567890",
  });
});

it("nothing beyond 1,000 parameters is read, so that it takes no time", () => {
  const names = Array.from({ length: 1_001 }, (_, index) => `p${index}`);
  expect(Object.keys(read("form", names.slice(1).join("&")))).toHaveLength(1_000);
  // The rest of this body is neither a form nor JSON: reading on would give another cause.
  expect(causeOf(() => read("form", `${names.join("=1&")}=1&a=%zz`))).toBe("count");
  expect(causeOf(() => read("query", none, `${names.join("=1&")}=1&a=%zz`))).toBe("count");
  expect(causeOf(() => read("json", `{${names.map((name) => `"${name}":1`).join(",")},}`))).toBe("count");
  expect(codeOf(() => read("form", "a&a&a=%zz"))).toBe("duplicate_parameter");
});

it("a GET has no body", () => {
  expect(codeOf(() => read("query", "a=1"))).toBe("malformed_request");
});

describe("the form of a callback", () => {
  const form = (method: string, ...types: string[]) =>
    formOf({ method, headers: types.flatMap((type) => ["Content-Type", type]) });

  it.each([
    ["GET", [], "query"],
    ["POST", ["application/json"], "json"],
    ["POST", ["Application/JSON; charset=UTF-8"], "json"],
    ["POST", ["application/x-www-form-urlencoded"], "form"],
    ["POST", ["application/x-www-form-urlencoded; charset=utf-8"], "form"],
  ])("%s %j is %s", (method, types, expected) => {
    expect(form(method, ...types)).toBe(expected);
  });

  it.each([
    ["HEAD", [], "method_not_allowed"],
    ["CONNECT", [], "method_not_allowed"],
    ["POST", [], "media_type_not_supported"],
    ["POST", ["application/json; charset=latin1"], "media_type_not_supported"],
    ["POST", ["multipart/form-data; boundary=x"], "media_type_not_supported"],
    ["POST", ["application/json", "application/json"], "media_type_not_supported"],
  ])("%s %j has no form that is accepted: %s", (method, types, code) => {
    expect(codeOf(() => form(method, ...types))).toBe(code);
  });
});

it("only a path is a target", () => {
  expect(queryOf("/callbacks?a=1?b")).toBe("a=1?b");
  expect(queryOf("/callbacks?")).toBe("");
  expect(queryOf("/callbacks")).toBeUndefined();
  expect(codeOf(() => queryOf("http://elsewhere/callbacks"))).toBe("target_not_allowed");
  expect(codeOf(() => queryOf("*"))).toBe("target_not_allowed");
});
