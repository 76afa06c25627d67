import { describe, expect, it } from "vitest";
import { stamp } from "../../src/proxy/authenticate.ts";
import { enrich } from "../../src/proxy/enrich.ts";
import type { SentParameter } from "../../src/proxy/messages.ts";
import { readParameters } from "../../src/proxy/parameters.ts";
import { refusalOf } from "./refusal-of.ts";

const site = { identifier: "S1000000001", version: "3.0", decimals: new Set(["price"]) };
const read = (text: string) => readParameters(new TextEncoder().encode(text));
const findValue = (sent: readonly SentParameter[], name: string) =>
  sent.find((parameter) => parameter.name === name)?.value;
const send = (text: string, identifier = "S1000000001") =>
  enrich(read(text), site, identifier).map(({ name, value }) => [name, value]);
const sendValue = (name: string, value: string) => findValue(enrich(read(`{"${name}":${value}}`), site, "S1"), name);

describe("the common parameters (spec 2.1)", () => {
  it("are appended behind the caller's", () => {
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

  it("stand where the client put them, with our value", () => {
    expect(send('{"site_identifier":"S1000000001","a":"1","version":"3.0","b":"2"}', "K2000000001")).toEqual([
      ["site_identifier", "K2000000001"],
      ["a", "1"],
      ["version", "3.0"],
      ["b", "2"],
    ]);
  });

  it.each(['"3.0"', "3.0", "0.30e1"])("take the version %s for the site's", (version) => {
    expect(sendValue("version", version)).toBe("3.0");
  });

  it.each(['"2.0"', '"3"', "3", "3.00", '"3.0 "', '""', "true", '"３.0"'])("refuse the version %s", (version) => {
    expect(refusalOf(() => sendValue("version", version))).toMatchObject({
      code: "version_mismatch",
      status: 422,
      message:
        "The body's version is not 3.0, which is configured for site S1000000001. Leave version out, or send " +
        '"3.0".',
    });
  });

  it.each([
    '{"a":"1","timestamp":"1","signature":"x","b":"2"}',
    '{"timestamp":1e999999999,"a":"1","b":"2","signature":true}',
  ])("never hold the caller's timestamp or signature: %s", (text) => {
    expect(send(text).map(([name]) => name)).toEqual(["a", "b", "version", "site_identifier"]);
  });

  it("leave names alone that only resemble them", () => {
    expect(send('{"Signature":"x","TIMESTAMP":"1","Version":"9"}').slice(0, 3)).toEqual([
      ["Signature", "x"],
      ["TIMESTAMP", "1"],
      ["Version", "9"],
    ]);
  });
});

describe("every value is a string (spec 5.2 rule 1)", () => {
  it.each([
    ["true", "true"],
    ["false", "false"],
    ['"true"', "true"],
    ['""', ""],
    ['" a\\u00e9\\n"', " aé\n"],
    ['"1e2"', "1e2"],
    ['"-0"', "-0"],
    ['"007"', "007"],
    ["1e2", "100"],
    ["-0", "0"],
    ["1.0", "1.0"],
    ["9007199254740993", "9007199254740993"],
    ["12345678901234567890.10", "12345678901234567890.10"],
  ])("%s leaves as %j", (given, sent) => {
    expect(sendValue("a", given)).toBe(sent);
  });

  it.each(["1E400", "1e64", `1${"0".repeat(64)}`, "1e-999999999"])("refuses the number %s", (number) => {
    expect(refusalOf(() => sendValue("a", number))).toMatchObject({
      code: "number_out_of_range",
      status: 422,
      message: expect.stringMatching(/^The number of parameter "a" takes more than 64 digits.*\.$/),
    });
  });

  it("keeps names that JavaScript objects would reorder or swallow", () => {
    expect(send('{"10":"a","__proto__":"b","9":"c","constructor":"d"}').slice(0, 4)).toEqual([
      ["10", "a"],
      ["__proto__", "b"],
      ["9", "c"],
      ["constructor", "d"],
    ]);
  });
});

describe("amounts have two digits (spec 5.2 rule 2)", () => {
  const amounts = ["order_amount", "minimum_payment_amount", "auto_pay_amount", "x_amount", "_amount", "price"];
  const others = ["amount", "order_amounts", "Order_Amount", "order_amount_", "order-amount", "prices"];

  it.each(amounts)("%s is an amount", (name) => {
    expect(sendValue(name, "10")).toBe("10.00");
    expect(sendValue(name, '"10"')).toBe("10.00");
  });

  it.each(others)("%s is none", (name) => {
    expect(sendValue(name, "10")).toBe("10");
    expect(sendValue(name, '"10.005"')).toBe("10.005");
  });

  it.each([
    ["10.5", "10.50"],
    ["10.500", "10.50"],
    ["1e2", "100.00"],
    ["1050e-2", "10.50"],
    ["10500e-3", "10.50"],
    ["-5", "-5.00"],
    ["-0", "0.00"],
    ["-0.00", "0.00"],
    ['"10.500"', "10.50"],
    ['"-0"', "-0.00"],
    [`1${"0".repeat(63)}`, `1${"0".repeat(63)}.00`],
  ])("%s leaves as %s", (given, sent) => {
    expect(sendValue("order_amount", given)).toBe(sent);
  });

  it.each(["10.005", "1e-3", '"10.005"', '"1e2"', '""', '" 10"', '"010"', '"ten"', "true", "false", '"true"'])(
    "refuses %s, and does not round",
    (given) => {
      expect(refusalOf(() => sendValue("order_amount", given))).toMatchObject({
        code: "decimal_invalid",
        status: 422,
        message: expect.stringMatching(/^The parameter "order_amount" is .*\.$/),
      });
    },
  );

  it("refuses a number that is too long as such", () => {
    expect(refusalOf(() => sendValue("order_amount", "1e64")).code).toBe("number_out_of_range");
  });

  it("never shows a value", () => {
    for (const value of ['"4111.111"', '"secret"', "4111.111", "4111e4111"]) {
      expect(refusalOf(() => sendValue("order_amount", value)).message).not.toMatch(/4111|secret/);
    }
  });
});

describe("a stamp belongs to one attempt", () => {
  const enriched = enrich(read('{"a":"1"}'), site, "S1");

  it("comes last and leaves the enriched parameters as they are", () => {
    expect(stamp(enriched, 1582149833).at(-1)).toMatchObject({ name: "timestamp", value: "1582149833" });
    expect(findValue(enriched, "timestamp")).toBeUndefined();
    expect(findValue(stamp(enriched, 1582149834), "timestamp")).toBe("1582149834");
  });

  it.each([
    [0, "0"],
    [1582149833.999, "1582149833"],
    [4_102_444_800, "4102444800"],
  ])("%d is written in whole seconds: %s", (seconds, text) => {
    expect(findValue(stamp(enriched, seconds), "timestamp")).toBe(text);
  });
});
