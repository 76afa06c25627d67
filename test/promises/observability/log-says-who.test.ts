/** Promise 70: an access line says who called and where it came in, whatever the caller does to spoil it. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Secret } from "../../../src/model/secret.ts";
import { call, order } from "../../../testkit/call.ts";
import { authority, hostileCertificate, hostileKey } from "../../../testkit/certificates.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { accessLines } from "../../../testkit/log-lines.ts";
import { rawPost, sendRaw } from "../../../testkit/raw-caller.ts";
import { bothSite, hmacSite, stageProxy } from "../../../testkit/stage.ts";
import { callSecurely, known, listenerTls } from "../proxy/callers.ts";
import {
  older,
  payments,
  stageWithCaller,
  stageWithCallers,
  stageWithTokens,
  token,
} from "../proxy/callers.ts";

describe("who called", () => {
  it("is the name of its token, never the token", async () => {
    const stage = await stageWithTokens();
    for (const given of [token, older, "canary-unknown"]) {
      await call(stage.url, order, { headers: { "Proxy-Authorization": `Bearer ${given}` } });
    }
    await call(stage.url);
    const lines = await accessLines(stage, 4);
    expect(lines.map(({ status, caller, cause }) => [status, caller, cause])).toEqual([
      [200, "orders", undefined],
      [200, "orders-before", undefined],
      [407, undefined, "unknown token"],
      [407, undefined, "no Proxy-Authorization"],
    ]);
    expect(JSON.stringify(lines)).not.toContain("canary");
  });

  it("is the caller of its certificate", async () => {
    const stage = await stageWithCallers(payments);
    expect((await callSecurely(stage.port)).status).toBe(200);
    const [line] = await accessLines(stage, 1);
    expect(line).toMatchObject({ caller: "payments", callerAddress: "127.0.0.1", listener: "127.0.0.1:0" });
  });

  it("is one bounded, printable text, whatever the certificate of a stranger holds", async () => {
    const stage = await stageWithCallers({ ...payments, tls: { ...listenerTls, ca: hostileCertificate } });
    const given = { ...known, ca: authority, cert: hostileCertificate, key: hostileKey };
    expect((await callSecurely(stage.port, given)).status).toBe(403);
    const [{ caller, level }] = await accessLines(stage, 1);
    expect(level).toBe("warn");
    expect(caller).toMatch(/^CN=or\\0Aders\?\\1B\[31m, O=a.*fatal.*, OU=x+/);
    expect(caller).toMatch(/^[\x20-\x7e]{256}…$/);
  });

  it("is found by its address: IPv4 as such where the listener takes IPv6 too", async () => {
    const bind = { kind: "tcp", host: "", port: 0 } as const;
    const listeners = [{ bind, environment: "sandbox", hosts: [], callers: { kind: "anyone" } as const }];
    const stage = await stageProxy({ config: { listeners } });
    expect((await call(stage.url)).status).toBe(200);
    const [line] = await accessLines(stage, 1);
    expect(line).toMatchObject({ callerAddress: "127.0.0.1", listener: ":0" });
    expect(line).not.toHaveProperty("caller");
  });

  it("has no address on a Unix socket", async () => {
    const socketPath = join(emptyFolder(), "app.sock");
    const bind = { kind: "unix", path: socketPath } as const;
    const stage = await stageProxy({ config: { listeners: [{ bind, environment: "sandbox", hosts: [] }] } });
    expect((await call("http://localhost", order, { socketPath })).status).toBe(200);
    const [line] = await accessLines(stage, 1);
    expect(line).toMatchObject({ listener: `unix:${socketPath}`, status: 200 });
    expect(line).not.toHaveProperty("callerAddress");
  });

  it("is said of requests that never became one, too", async () => {
    const stage = await stageProxy();
    await sendRaw(stage.port, "nonsense\r\n\r\n");
    const [line] = await accessLines(stage, 1);
    expect(line).toMatchObject({ callerAddress: "127.0.0.1", listener: "127.0.0.1:0", code: "malformed_request" });
    expect(line.cause).toMatch(/^HPE_[A-Z_]+$/);
    expect(line.message).toBe(`request without a head: 400 malformed_request (${line.cause}), not_sent`);
    for (const name of ["method", "target"]) expect(line).not.toHaveProperty(name);
  });
});

it("names the set or the key, and the bytes of both bodies", async () => {
  const stage = await stageProxy({ withBoth: true });
  const calls = [{}, { "Countersign-Site": hmacSite }, { "Countersign-Site": "K2000000002" }];
  const toBoth = { "Countersign-Site": bothSite, "Countersign-Auth": "hmac" };
  for (const headers of [...calls, toBoth]) expect((await call(stage.url, order, { headers })).status).toBe(200);
  const lines = await accessLines(stage, 4);
  expect(lines.map(({ credential, key }) => [credential, key])).toEqual([
    ["S1000000001/blue", undefined],
    [undefined, "K2000000001"],
    [undefined, "K2000000002"],
    [undefined, "K2000000005"],
  ]);
  expect(lines.map(({ tokenWaitMs }) => tokenWaitMs === undefined)).toEqual([false, true, true, true]);
  for (const line of lines) expect(line.connectMs).toBeGreaterThan(0);
});

it("measures the wait for a connection apart from the service's time", async () => {
  const stage = await stageProxy();
  stage.simulator.faults.add({ host: "api", kind: "delay", delayMs: 300 });
  await call(stage.url, order, { headers: { "Countersign-Site": hmacSite } });
  const [line] = await accessLines(stage, 1);
  expect(line.upstreamMs).toBeGreaterThan(290);
  expect(line.connectMs).toBeLessThan(line.upstreamMs - 250);
});

describe("the target", () => {
  it.each<[string, string]>([
    ["/create_order?email=hidden@example.com&amount=73514273", "/create_order…"],
    ["/create_order#hidden", "/create_order…"],
    ["/create_order%3Femail=hidden", "/create_order…"],
    ["/create_order;amount=73514273", "/create_order…"],
    ['/x"},{"level":"fatal"', "/x…"],
    ["/\u001b[31mhidden", "/…"],
    ["/ünïcode-hidden", "/…"],
    ["//user:hidden@evil.example/x", "…"],
    [`/${"a".repeat(10_000)}hidden`, `/${"a".repeat(127)}…`],
    ["http://evil.example/services/hidden-secret?x=hidden", "http://evil.example/…"],
    ["http://user:hidden@evil.example/x", "…"],
    [`http://${"hidden".repeat(1_700)}/x`, "…"],
    ["create_order", "…"],
    ["*", "…"],
  ])("is shown without query, user information or a foreign path: %#", async (target, shown) => {
    const stage = await stageProxy();
    const text = await sendRaw(stage.port, rawPost({ target, host: ["Host: localhost"] }));
    expect(text).toMatch(/^HTTP\/1\.1 4\d\d /);
    const [line] = await accessLines(stage, 1);
    // What the parser itself will not have comes without a target.
    if (line.target === undefined) expect(line.cause).toMatch(/^HPE_/);
    else expect(line.target).toBe(shown);
    expect(JSON.stringify(line)).not.toMatch(/hidden|73514273/);
    expect(line.message.length).toBeLessThan(600);
  });

  it("of a tunnel is not shown: it is a foreign host", async () => {
    const stage = await stageProxy();
    await sendRaw(stage.port, "CONNECT hidden.example:443 HTTP/1.1\r\nHost: hidden.example\r\n\r\n");
    const [line] = await accessLines(stage, 1);
    expect(line).toMatchObject({ method: "CONNECT", message: "CONNECT: 405 method_not_allowed, not_sent" });
    expect(line).not.toHaveProperty("target");
  });

  it("may be long where any operation may be called, the line not", async () => {
    const stage = await stageProxy({ environment: { operations: "any" } });
    const operation = "a".repeat(10_000);
    await call(stage.url, order, { path: `/${operation}`, headers: { "Countersign-Site": hmacSite } });
    const [line] = await accessLines(stage, 1);
    expect(line.operation).toBe(operation.slice(0, 128));
    expect(JSON.stringify(line).length).toBeLessThan(2_000);
  });
});

describe("the caller's own request id", () => {
  it.each([
    ["a UUID", "6f1c3f5e-1d2c-4e8f-9d0a-0b1c2d3e4f50"],
    ["a load balancer's", "Root=1-67891233-abcdef012345678912345678;Self=1-67"],
    ["128 characters", "a".repeat(128)],
  ])("is logged: %s", async (_, id) => {
    const stage = await stageProxy();
    await call(stage.url, order, { headers: { "X-Request-Id": id } });
    expect((await accessLines(stage, 1))[0].callerRequestId).toBe(id);
  });

  it.each<[string, string | string[]]>([
    ["with quotes and braces", 'hidden"},{"level":"fatal"'],
    ["with spaces", "hidden hidden"],
    ["with a tabulator", "hidden\thidden"],
    ["beyond ASCII", "hidden\u00e9"],
    ["an e-mail address", "hidden@example.com"],
    ["of 10 kB", "hidden".repeat(1_700)],
    ["empty", ""],
    ["given twice", ["hidden-1", "hidden-2"]],
  ])("is left out where it is no plain id: %s", async (_, id) => {
    const stage = await stageProxy();
    await call(stage.url, order, { headers: { "X-Request-Id": id, "Countersign-Site": hmacSite } });
    const [line] = await accessLines(stage, 1);
    expect(line).not.toHaveProperty("callerRequestId");
    // The simulator's answer repeats none of it.
    expect(JSON.stringify(line)).not.toContain("hidden");
  });
});

it.each([
  ["with a quote and a brace", 'hidden"},{"level":"fatal"'],
  ["with control characters' looks", "hidden%0a%1b"],
  ["with user information", "user:hidden@evil.example"],
  ["with a path", "evil.example/hidden"],
  ["of 10 kB", "hidden".repeat(1_700)],
])("repeats no foreign Host that is none: %s", async (_, host) => {
  const stage = await stageProxy();
  await sendRaw(stage.port, rawPost({ host: [`Host: ${host}`] }));
  const [line] = await accessLines(stage, 1);
  expect(line).toMatchObject({ code: "target_not_allowed", status: 403 });
  expect(line).not.toHaveProperty("cause");
  expect(JSON.stringify(line)).not.toContain("hidden");
});

it("shows no token of a caller in Basic either, nor a user that it names", async () => {
  const stage = await stageWithCaller({ name: "billing", tokens: [new Secret("canary-billing-token")] });
  const basic = Buffer.from('canary-user"}:canary-billing-token').toString("base64");
  const answer = await call(stage.url, order, { headers: { "Proxy-Authorization": `Basic ${basic}` } });
  expect(answer.status).toBe(200);
  const [line] = await accessLines(stage, 1);
  expect(line.caller).toBe("billing");
  expect(JSON.stringify(line)).not.toMatch(/canary/);
});
