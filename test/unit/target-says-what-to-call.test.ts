/** Proves row 2 on the pure functions, too: which operations are allowed, and what the refusal of another one says. */
import { describe, expect, it } from "vitest";
import type { Environment } from "../../src/model/environment.ts";
import { checkOperation } from "../../src/proxy/target.ts";
import { addressOf } from "../../testkit/address.ts";
import { refusalOf } from "./refusal-of.ts";
import { resolve, sandbox } from "./resolve-target.ts";

describe("an operation", () => {
  const allowing = (operations: Environment["operations"]) =>
    ({
      name: "sandbox",
      operations,
      baseUrl: addressOf("https://api.example/v1.0/json-api"),
    }) as unknown as Environment;

  it.each([
    [new Set(["create_order"]), "create_order"],
    [new Set(["orders/create"]), "orders/create"],
    ["any", "whatever"],
  ] as const)("%# is allowed", (operations, operation) => {
    expect(() => checkOperation(operation, allowing(operations))).not.toThrow();
  });

  it.each([
    [new Set(["create_order"]), "create_orders", " Call /create_order."],
    [new Set(["create_order"]), "Create_Order", " Call /create_order."],
    [new Set(["create_order"]), "create_order/x", " Call /create_order."],
    [new Set(["any"]), "create_order", ""],
    [new Set<string>(), "create_order", ""],
    [new Set(["create_order"]), "x".repeat(15_000), ""],
  ])("%# is not allowed", (operations, operation, suggestion) => {
    expect(refusalOf(() => checkOperation(operation, allowing(operations)))).toMatchObject({
      code: "operation_not_allowed",
      status: 403,
      message: `The operation ${show(operation)} is not in the operations of environment sandbox.${suggestion}`,
    });
  });
});

const show = (text: string) => (text.length <= 80 ? text : `${text.slice(0, 80)}…`);

describe("says what to call", () => {
  const baseUrl = addressOf("https://api.example/json-api");
  const environment = { name: "sandbox", baseUrl, operations: new Set(["create_order", "orders/list"]) };
  const call = (target: string, operations: Environment["operations"] = environment.operations) => {
    const at = { ...sandbox, environment: { ...environment, operations } as unknown as Environment };
    return refusalOf(() => checkOperation(resolve(target, at), at.environment));
  };
  const added = "Countersign adds the base path /json-api itself: leave it out.";
  const empty = "it has an empty segment (two slashes in a row, or one at the end)";

  it.each([
    ["/json-api/create_order", `${added} Call /create_order.`],
    ["/JSON-API/create_order", `${added} Call /create_order.`],
    ["/json-api/orders/list", `${added} Call /orders/list.`],
    ["/json-api/creat_order", `${added} Call /create_order.`],
    ["/json-api/something", added],
    ["/json-api", added],
    ["/creat_order", "Call /create_order."],
    ["/order/list", "Call /orders/list."],
  ])("instead of %s", (target, suggestion) => {
    expect(call(target)).toMatchObject({
      code: "operation_not_allowed",
      status: 403,
      message: `The operation ${target.slice(1)} is not in the operations of environment sandbox. ${suggestion}`,
    });
  });

  it.each([
    ["/create_order/", `${empty}. Call /create_order.`],
    ["//create_order", `${empty}. Call /create_order.`],
    ["/orders//list", `${empty}. Call /orders/list.`],
    ["//json-api//create_order/", `${empty}. ${added} Call /create_order.`],
    ["//evil.example", `${empty}.`],
    ["//evil.example/create_order", `${empty}.`],
    ["/", "it is empty."],
    ["http://api.example/json-api/json-api/create_order/", `${empty}. ${added} Call /create_order.`],
  ])("instead of %s", (target, suggestion) => {
    expect(call(target)).toMatchObject({
      code: "target_not_allowed",
      status: 400,
      message: `The path ${target} is not an operation: ${suggestion}`,
    });
  });

  it("refuses the base path where any operation may be called, too", () => {
    expect(call("/json-api/anything", "any")).toMatchObject({
      code: "operation_not_allowed",
      message: `The operation json-api/anything is not in the operations of environment sandbox. ${added} Call /anything.`,
    });
    expect(call("/anything/", "any").message).toContain("Call /anything.");
  });
});

it("what messages show of a target is printable and short", () => {
  const { message } = refusalOf(() => resolve(`/\u001b[31m${"x".repeat(500)}\u202e`));
  expect(message).toMatch(/^[\x20-\x7e…]*$/);
  expect(message.length).toBeLessThan(250);
  expect(message).toContain("/?[31mxxx");
});
