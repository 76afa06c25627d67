/** Which targets are operations, and the refusals of all others. */
import { describe, expect, it } from "vitest";
import type { Environment } from "../../src/model/environment.ts";
import { checkOperation, resolveTarget } from "../../src/orders/operation.ts";
import type { ListenerContext } from "../../src/serving/messages.ts";
import { checkAuthority, loopbackHosts, parseTarget } from "../../src/serving/target.ts";
import { addressOf } from "../../testkit/address.ts";
import { environmentOf } from "../../testkit/environment.ts";
import { refusalOf } from "./refusal-of.ts";

const usual = new Set(["create_order", "orders/list"]);

const sandbox = listener("https://api.sandbox.example/json-api");

describe("origin-form", () => {
  it.each([
    ["/create_order", "create_order"],
    ["/a", "a"],
    ["/orders/create_order-2", "orders/create_order-2"],
    ["/json-api/create_order", "json-api/create_order"],
    ["/A/0/_/-", "A/0/_/-"],
  ])("%s is the operation %s", (target, operation) => {
    expect(resolve(target)).toBe(operation);
  });

  it.each(["/a\n", "/\u0430"])("%j, which no request line can have, is refused", (target) => {
    expect(refusalOf(() => resolve(target))).toMatchObject({ code: "target_not_allowed", status: 400 });
  });

  it.each(["/a?", "/a?b=c", "/?", "//evil?x", "/a#b?c"])("%s has a query", (target) => {
    expect(refusalOf(() => resolve(target))).toMatchObject({
      code: "query_not_allowed",
      status: 400,
      // With older versions the service may accept queries; Countersign refuses them for every version.
      message: expect.stringMatching(
        /of every version .* from version 3\.0 on the service.* Write them into the body\.$/,
      ),
    });
  });
});

describe("absolute-form, as HTTP_PROXY makes it", () => {
  it.each([
    ["https://api.example", "http://api.example", "http://api.example:443", "HTTP://API.Example"],
    ["https://api.example:8443", "http://api.example:8443"],
    ["http://api.example", "http://api.example", "http://api.example:80"],
    ["http://api.example:8080", "http://api.example:8080"],
    ["http://[::1]:8080", "http://[::1]:8080"],
    ["http://10.0.0.1", "http://10.0.0.1"],
  ])("the service at %s is reached by %s", (service, ...called) => {
    for (const origin of called) {
      expect(resolve(`${origin}/create_order`, listener(service)), origin).toBe("create_order");
      expect(resolve(`${origin}/json-api/create_order`, listener(`${service}/json-api`)), origin).toBe("create_order");
    }
  });

  const foreign = { code: "target_not_allowed", status: 403 };
  it.each([
    "https://api.example",
    "ftp://api.example",
    "http://api.example:80",
    "http://api.example:",
    "http://localhost",
    "http://api.example:443:443",
    "http://api.example:000443000",
    "http://api.example.",
    "http://api.example.evil",
    "http://evil.api.example",
    "http://api%2eexample",
    "http://api.example\\evil",
    "http://",
  ])("the service at https://api.example is not reached by %s", (origin) => {
    const at = listener("https://api.example/json-api");
    expect(refusalOf(() => resolve(`${origin}/json-api/create_order`, at))).toMatchObject(foreign);
  });

  it.each([
    ["https://api.example:8443", "http://api.example"],
    ["https://api.example:8443", "http://api.example:443"],
    ["http://api.example", "http://api.example:443"],
  ])("the service at %s is not reached by %s", (service, origin) => {
    expect(refusalOf(() => resolve(`${origin}/create_order`, listener(service)))).toMatchObject(foreign);
  });

  it.each([
    "/create_order",
    "/json-apis/create_order",
    "/JSON-API/create_order",
    "/json-api",
    "",
    "?/json-api/create_order",
    "#/json-api/create_order",
  ])("nothing below /json-api is reached by %j", (rest) => {
    const at = listener("https://api.example/json-api");
    expect(refusalOf(() => resolve(`http://api.example${rest}`, at))).toMatchObject(foreign);
  });

  it("does not look at the Host", () => {
    expect(resolve("http://api.sandbox.example/json-api/a", sandbox, "evil")).toBe("a");
  });

  it("never shows user information", () => {
    const refusal = refusalOf(() => resolve("http://user:hidden@evil/json-api/a"));
    expect(refusal.message).not.toContain("hidden");
  });
});

describe("the Host on a Unix socket", () => {
  const at = { ...sandbox, hosts: "any" } as const;

  it.each(["", "evil.example", "_", "/run/app.sock", "%2Frun%2Fapp.sock", "a@b"])("may be %j", (host) => {
    expect(resolve("/create_order", at, host)).toBe("create_order");
  });

  it.each(["localhost:7411", "127.0.0.1:7411"])(
    "in the URL of Countersign's own address %s: the refusal says that NO_PROXY is missing",
    (authority) => {
      const { message, status } = refusalOf(() => resolve(`http://${authority}/create_order`));
      expect(status).toBe(403);
      expect(message).toContain(`set NO_PROXY=${authority.split(":")[0]} where HTTP_PROXY is set`);
    },
  );

  it("does not allow another host in absolute-form", () => {
    const refusal = refusalOf(() => resolve("http://evil.example/json-api/create_order", at, ""));
    expect(refusal).toMatchObject({ code: "target_not_allowed", status: 403 });
  });
});

describe("an operation", () => {
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
    [new Set(["any"]), "create_order", " Operations here: any."],
    [new Set<string>(), "create_order", ""],
    [new Set(["create_order"]), "x".repeat(80), " Operations here: create_order."],
    [new Set(["create_order"]), "x".repeat(15_000), " Operations here: create_order."],
  ])("%# is not allowed", (operations, operation, suggestion) => {
    expect(refusalOf(() => checkOperation(operation, allowing(operations)))).toMatchObject({
      code: "operation_not_allowed",
      status: 403,
      message: `The operation ${show(operation)} is not in the operations of environment sandbox.${suggestion}`,
    });
  });
});

const show = (text: string) => (text.length <= 80 ? text : `${text.slice(0, 80)}…`);

describe("a refusal says what to call", () => {
  const call = (target: string, operations: Environment["operations"] = usual) => {
    const environment = allowing(operations);
    return refusalOf(() => checkOperation(resolve(target, { ...sandbox, environment }), environment));
  };
  const added = "Countersign adds the base path /json-api itself: leave it out.";
  const here = "Operations here: create_order, orders/list.";
  const empty = "has an empty segment (two slashes in a row, or one at the end)";

  it.each([
    ["/json-api/create_order", `${added} Call /create_order.`],
    ["/JSON-API/create_order", `${added} Call /create_order.`],
    ["/json-api/orders/list", `${added} Call /orders/list.`],
    ["/json-api/creat_order", `${added} Call /create_order.`],
    ["/json-api/something", added],
    ["/json-api", added],
    ["/creat_order", "Call /create_order."],
    ["/order/list", "Call /orders/list."],
    ["/oauth/token", "Countersign gets the tokens itself: call an operation, without one."],
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
    ["//evil.example", `${empty}. ${here}`],
    ["//evil.example/create_order", `${empty}. ${here}`],
    ["/", `is empty. ${here}`],
    ["http://api.example/json-api/json-api/create_order/", `${empty}. ${added} Call /create_order.`],
  ])("instead of %s", (target, suggestion) => {
    expect(call(target)).toMatchObject({
      code: "target_not_allowed",
      status: 400,
      causedBy: suggestion.split(".")[0],
      message: `The path ${target} is not an operation: it ${suggestion}`,
    });
  });

  it("also comes for the base path if any operation may be called", () => {
    expect(call("/json-api/anything", "any")).toMatchObject({
      code: "operation_not_allowed",
      message: `The operation json-api/anything is not in the operations of environment sandbox. ${added} Call /anything.`,
    });
    expect(call("/anything/", "any").message).toContain("Call /anything.");
  });
});

it("the part of a target that a message shows is printable and short", () => {
  const { message } = refusalOf(() => resolve(`/\u001b[31m${"x".repeat(500)}\u202e`));
  expect(message).toMatch(/^[\x20-\x7e…]*$/);
  expect(message.length).toBeLessThan(250);
  expect(message).toContain("/?[31mxxx");
});

/** Operations that may be called at a service. */
function allowing(operations: Environment["operations"], baseUrl = "https://api.example/json-api"): Environment {
  return environmentOf([], { operations, baseUrl: addressOf(baseUrl) });
}

function listener(baseUrl: string): ListenerContext {
  const environment = allowing(usual, baseUrl);
  return { environment, hosts: new Set(loopbackHosts), url: "http://127.0.0.1:7411" };
}

/** Both checks of a target, as on the main path. */
function resolve(text: string, at = sandbox, host = "localhost"): string {
  const target = parseTarget(text);
  checkAuthority(target, at);
  return resolveTarget(target, host, at);
}
