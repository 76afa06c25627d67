/** Proves rows 2 and 3 on the pure functions: which request targets are operations, and of what the others are refused. */
import { describe, expect, it } from "vitest";
import { refusalOf } from "./refusal-of.ts";
import { listener, resolve, sandbox } from "./resolve-target.ts";

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

  it.each([
    ...["/", "//", "//evil", "/\\evil", "/create_order/", "//create_order", "/a//b", "/.", "/..", "/../a"],
    ...["/a/../b", "/a.b", "/%61", "/%2e%2e/a", "/a%2fb", "/a%5cb", "/a%00", "/..;/a", "/a;b", "/a#b", "/a b"],
    ...["/a\tb", "/a\n", "/a\u0000", "/\u00e9", "/\u0430", "/a@b", "/a:b", "/a,b", "/a+b", "/~a"],
    ...["/http://evil/a", "/a\u2028"],
  ])("%j is refused", (target) => {
    expect(refusalOf(() => resolve(target))).toMatchObject({ code: "target_not_allowed", status: 400 });
  });

  it.each(["/a?", "/a?b=c", "/?", "//evil?x", "/a#b?c"])("%s has a query", (target) => {
    expect(refusalOf(() => resolve(target))).toMatchObject({
      code: "query_not_allowed",
      status: 400,
      // Older versions may have queries at the service; none of them has one here.
      message: expect.stringMatching(/of every version .* from version 3\.0 on the service/),
    });
  });
});

describe("absolute-form, as HTTP_PROXY makes it", () => {
  const at = (baseUrl: string) => (target: string) => resolve(target, listener(baseUrl));

  it.each([
    [
      "https://api.example/json-api",
      [
        ...["http://api.example/json-api/create_order", "http://api.example:443/json-api/create_order"],
        ...["HTTP://API.Example/json-api/create_order"],
      ],
    ],
    ["https://api.example:8443/json-api", [...["http://api.example:8443/json-api/create_order"]]],
    [
      "http://api.example/json-api",
      [...["http://api.example/json-api/create_order", "http://api.example:80/json-api/create_order"]],
    ],
    ["http://api.example:8080/json-api", [...["http://api.example:8080/json-api/create_order"]]],
    ["https://api.example", [...["http://api.example/create_order"]]],
    ["http://[::1]:8080/json-api", [...["http://[::1]:8080/json-api/create_order"]]],
    ["http://10.0.0.1/json-api", [...["http://10.0.0.1/json-api/create_order"]]],
  ])("with baseUrl %s is served at %j", (baseUrl, targets) => {
    for (const target of targets) expect(at(baseUrl)(target), target).toBe("create_order");
  });

  it.each([
    [
      "https://api.example/json-api",
      [
        ...["https://api.example/json-api/create_order", "ftp://api.example/json-api/create_order"],
        ...["http://api.example:80/json-api/create_order", "http://api.example:/json-api/create_order"],
        ...["http://api.example:443:443/json-api/create_order", "http://api.example:000443000/json-api/create_order"],
        ...["http://api.example./json-api/create_order", "http://api.example.evil/json-api/create_order"],
        ...["http://evil.api.example/json-api/create_order", "http://api%2eexample/json-api/create_order"],
        ...["http://api.example\\evil/json-api/create_order", "http:///json-api/create_order"],
        ...["http://localhost/json-api/create_order", "http://api.example/create_order"],
        ...["http://api.example/json-apis/create_order", "http://api.example/JSON-API/create_order"],
        ...["http://api.example/json-api", "http://api.example", "http://api.example?/json-api/create_order"],
        ...["http://api.example#/json-api/create_order"],
      ],
    ],
    [
      "https://api.example:8443/json-api",
      [...["http://api.example/json-api/create_order", "http://api.example:443/json-api/create_order"]],
    ],
    ["http://api.example/json-api", [...["http://api.example:443/json-api/create_order"]]],
  ])("with baseUrl %s is foreign at %j", (baseUrl, targets) => {
    const foreign = { code: "target_not_allowed", status: 403 };
    for (const target of targets)
      expect(
        refusalOf(() => at(baseUrl)(target)),
        target,
      ).toMatchObject(foreign);
  });

  it("does not look at the Host", () => {
    expect(resolve("http://api.sandbox.example/json-api/a", sandbox, "evil")).toBe("a");
  });

  it("never shows user information", () => {
    const refusal = refusalOf(() => resolve("http://user:hidden@evil/json-api/a"));
    expect(refusal.message).not.toContain("hidden");
  });
});

describe("the Host of an origin-form request", () => {
  const named = listener("https://api.example", ["countersign.internal"]);

  it.each([
    ...["localhost", "127.0.0.1", "[::1]", "LOCALHOST:7411", "[::1]:1", "Countersign.Internal"],
    ...["countersign.internal:80"],
  ])("%s is one of the listener's", (host) => {
    expect(resolve("/a", named, host)).toBe("a");
  });

  it.each([
    ...["", " ", "evil", "api.example", "localhost.", "localhost.evil", "localhost:", "localhost:x"],
    ...["localhost:123456", "localhost, evil", "a@localhost", "::1", "[::1", "localhost/"],
  ])("%j is foreign", (host) => {
    expect(refusalOf(() => resolve("/a", named, host))).toMatchObject({ code: "target_not_allowed", status: 403 });
  });
});

describe("the Host on a Unix socket", () => {
  const at = { ...sandbox, hosts: "any" } as const;

  it.each(["", "evil.example", "_", "/run/app.sock", "%2Frun%2Fapp.sock", "a@b"])("may be %j", (host) => {
    expect(resolve("/create_order", at, host)).toBe("create_order");
  });

  it.each(["localhost:7411", "127.0.0.1:7411"])("says of its own address %s that NO_PROXY is missing", (authority) => {
    const { message, status } = refusalOf(() => resolve(`http://${authority}/create_order`));
    expect(status).toBe(403);
    expect(message).toContain(`set NO_PROXY=${authority.split(":")[0]} where HTTP_PROXY is set`);
  });

  it("opens no other host in absolute-form", () => {
    const refusal = refusalOf(() => resolve("http://evil.example/json-api/create_order", at, ""));
    expect(refusal).toMatchObject({ code: "target_not_allowed", status: 403 });
  });
});
