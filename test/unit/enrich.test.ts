import { describe, expect, it } from "vitest";
import { stamp } from "../../src/orders/authenticate.ts";
import { enrich } from "../../src/orders/enrich.ts";
import { readParameters } from "../../src/parameters/parameters.ts";
import type { SentParameter } from "../../src/parameters/signature.ts";
import { refusalOf } from "./refusal-of.ts";

const site = { identifier: "S1000000001", version: "3.0", decimals: new Set(["price"]) };
const read = (text: string) => readParameters(new TextEncoder().encode(text));
const findValue = (sent: readonly SentParameter[], name: string) =>
  sent.find((parameter) => parameter.name === name)?.value;
const send = (text: string, identifier = "S1000000001") =>
  stamp(enrich(read(text), site), identifier, 0)
    .map(({ name, value }) => [name, value])
    .slice(0, -1);
const sendValue = (name: string, value: string) => findValue(enrich(read(`{"${name}":${value}}`), site), name);

describe("the common parameters (spec 2.1)", () => {
  it("are appended after the caller's", () => {
    expect(send('{"order_type":"any"}')).toEqual([
      ["order_type", "any"],
      ["version", "3.0"],
      ["site_identifier", "S1000000001"],
    ]);
    expect(send("{}")).toEqual([
      ["version", "3.0"],
      ["site_identifier", "S1000000001"],
    ]);
  });

  it("stay in the caller's place, with Countersign's value", () => {
    expect(send('{"site_identifier":"S1000000001","a":"1","version":"3.0","b":"2"}', "K2000000001")).toEqual([
      ["site_identifier", "K2000000001"],
      ["a", "1"],
      ["version", "3.0"],
      ["b", "2"],
    ]);
  });

  it("are refused if the caller's version is another one", () => {
    expect(refusalOf(() => sendValue("version", "3.00"))).toMatchObject({
      code: "version_mismatch",
      status: 422,
      message:
        "The body's version is not 3.0, which is configured for site S1000000001. Leave version out, or send " +
        '"3.0".',
    });
  });
});

describe("amounts have two digits (spec 5.2 rule 2)", () => {
  it("in each parameter that the site's configuration names", () => {
    expect(sendValue("price", "10")).toBe("10.00");
    expect(sendValue("prices", "10")).toBe("10");
  });

  it.each([
    ["a", "1e64", "number_out_of_range", /^The number of parameter "a" takes more than 64 digits.*\.$/],
    ["order_amount", "1e64", "number_out_of_range", /"order_amount"/],
    ["order_amount", "10.005", "decimal_invalid", /^The parameter "order_amount" is .* nothing is rounded\.$/],
    ["order_amount", '"10.005"', "decimal_invalid", /nothing is rounded\.$/],
    ["order_amount", '"10,00"', "decimal_invalid", /like "10\.50"\. Its character 3 is a comma\.$/],
    ["order_amount", '"10 EUR"', "decimal_invalid", /Its character 3 is a space\.$/],
    ["order_amount", '"EUR10"', "decimal_invalid", /Its character 1 is neither a digit nor the point\.$/],
    ["order_amount", '"10.5.0"', "decimal_invalid", /Its character 5 is a point\.$/],
    ["order_amount", '"007"', "decimal_invalid", /Its character 2 is a digit after a leading 0\.$/],
    ["order_amount", '"+5"', "decimal_invalid", /Its character 1 is neither a digit nor the point\.$/],
    ["order_amount", '".5"', "decimal_invalid", /Its character 1 is a point\.$/],
    ["order_amount", '"5."', "decimal_invalid", /It ends where a digit has to follow\.$/],
    ["order_amount", '""', "decimal_invalid", /It ends where a digit has to follow\.$/],
    ["order_amount", "true", "decimal_invalid", /Its character 1 is neither a digit nor the point\.$/],
  ])("or are refused, with the parameter's name: %s of %s", (name, value, code, message) => {
    expect(refusalOf(() => sendValue(name, value))).toMatchObject({
      code,
      status: 422,
      message: expect.stringMatching(message),
    });
  });

  it("or are refused, without the value", () => {
    for (const value of ['"4111.111"', '"secret"', "4111.111", "4111e4111"]) {
      expect(refusalOf(() => sendValue("order_amount", value)).message).not.toMatch(/4111|secret/);
    }
  });
});

it.each([
  [0, "0"],
  [1582149833.999, "1582149833"],
  [4_102_444_800, "4102444800"],
])("the stamp of %d is in whole seconds: %s", (seconds, text) => {
  expect(findValue(stamp(enrich(read("{}"), site), "S1", seconds), "timestamp")).toBe(text);
});
