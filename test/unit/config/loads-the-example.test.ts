import { describe, expect, test } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { ConfigFolder, production, sound } from "../../../testkit/config-folder.ts";

/** The documented example, every secret in a folder of the test. */
const example = `listeners:
  - { bind: "127.0.0.1:7411", environment: sandbox }
  - { bind: "unix:/run/countersign/sandbox.sock", environment: sandbox }
admin: { bind: ":7412" }
status: { bind: "127.0.0.1:7413" }

environments:
  sandbox:
    baseUrl: https://api.sandbox.example/json-api
    authUrl: https://login.sandbox.example
    operations: [create_order]
    defaultSite: S1000000001
    sites:
      S1000000001:
        credentials:
          - { name: blue, dir: DIR/blue }
          - { name: green, clientId: abc, clientSecret: { file: DIR/green }, audience: "https://api.sandbox.example" }
        children:
          S1000000002: {}
          S1000000004: { credentials: [ { name: own, dir: DIR/own } ] }
      S1000000003:
        keys:
          - { identifier: K2000000001, secret: { file: DIR/k1 } }

tokens: { cache: memory }
timeouts: { request: 20s, connect: 2s, token: 5s }
limits: { inFlightPerEnvironment: 256, connections: 1024, bodyBytes: 262144 }
log: { level: info, upstreamHeaders: [x-request-id] }
`;

async function load(yaml: string): Promise<Config> {
  const own = { "own/client-id": "own-id", "own/client-secret": "canary-client-secret-own", "own/audience": "own" };
  return (await new ConfigFolder(own).loadSound(yaml)).config;
}

describe("the documented example", () => {
  test("says where to listen and how long to wait", async () => {
    const config = await load(example);
    expect(config.listeners).toEqual([
      { bind: { kind: "tcp", host: "127.0.0.1", port: 7411 }, environment: "sandbox", hosts: [] },
      { bind: { kind: "unix", path: "/run/countersign/sandbox.sock" }, environment: "sandbox", hosts: [] },
    ]);
    expect(config.admin).toEqual({ kind: "tcp", host: "", port: 7412 });
    expect(config.status).toEqual({ kind: "tcp", host: "127.0.0.1", port: 7413 });
    expect(config.timeouts).toEqual({ requestMs: 20_000, connectMs: 2_000, tokenMs: 5_000 });
    expect(config.limits).toEqual({ inFlightPerEnvironment: 256, connections: 1_024, bodyBytes: 262_144 });
    expect(config.log).toEqual({ level: "info", upstreamHeaders: ["x-request-id"] });
  });

  test("takes addresses apart and indexes sites and keys", async () => {
    const sandbox = (await load(example)).environments.get("sandbox");
    expect(sandbox?.baseUrl).toEqual({
      origin: "https://api.sandbox.example",
      scheme: "https",
      host: "api.sandbox.example",
      port: 443,
      path: "/json-api",
    });
    expect(sandbox?.authUrl?.path).toBe("");
    expect(sandbox?.operations).toEqual(new Set(["create_order"]));
    expect([...(sandbox?.sites.keys() ?? [])]).toEqual(["S1000000001", "S1000000002", "S1000000004", "S1000000003"]);
    expect(sandbox?.siteOfKey.get("K2000000001")).toBe(sandbox?.sites.get("S1000000003"));
  });

  test("takes a sole site for the default one, and none of several", async () => {
    const lone = sound.replace("    defaultSite: S1000000001\n", "");
    const { environments } = await load(`${lone}${production}`);
    expect([...environments.values()].map(({ defaultSite }) => defaultSite)).toEqual([undefined, "S2000000001"]);
  });

  test("gives each site its credentials and its method", async () => {
    const sites = (await load(example)).environments.get("sandbox")?.sites;
    const parent = sites?.get("S1000000001");
    expect(parent?.credentials?.sets.map(({ label, clientId }) => [label, clientId])).toEqual([
      ["S1000000001/blue", "blue-id"],
      ["S1000000001/green", "abc"],
    ]);
    expect(parent?.credentials?.sets[0].clientSecret?.reveal()).toBe("canary-client-secret-blue");
    expect(sites?.get("S1000000002")).toMatchObject({ parent: "S1000000001", auth: ["oauth"] });
    expect(sites?.get("S1000000002")?.credentials).toBe(parent?.credentials);
    expect(sites?.get("S1000000004")?.credentials?.owner).toBe("S1000000004");
    const signing = sites?.get("S1000000003");
    expect(signing).toMatchObject({ auth: ["hmac"], credentials: undefined, parent: undefined });
    expect(signing?.defaultKey).toBe(signing?.keys[0]);
    expect(signing?.defaultKey?.secret.reveal()).toBe("canary-api-secret-key-one");
  });
});

describe("what is not written", () => {
  test("has its documented default", async () => {
    const config = await load(sound);
    expect(config).toMatchObject({
      tokens: { cache: "memory" },
      timeouts: { requestMs: 20_000, connectMs: 2_000, tokenMs: 5_000 },
      limits: { inFlightPerEnvironment: 256, connections: 1_024, bodyBytes: 262_144 },
      log: { level: "info", upstreamHeaders: ["x-request-id"] },
      readiness: "listening",
      reload: { unreadyAfterRefusalMs: undefined },
      drain: { minMs: 0 },
    });
    const sandbox = config.environments.get("sandbox");
    const tls = { ca: undefined, cert: undefined, key: undefined };
    expect(sandbox).toMatchObject({ undecided: "5xx", forwardHeaders: [], via: true, tls });
    expect(sandbox?.sites.get("S1000000003")).toMatchObject({
      version: "3.0",
      identifyBy: "site",
      characters: "reject",
      exempt: new Set(["format", "signature", "call"]),
      decimals: new Set(),
    });
  });

  test("each of several settings may be left out alone", async () => {
    const config = await load(`${sound}timeouts: { token: 1500ms }\nlimits: { connections: 7 }\ndrain: {}\n`);
    expect(config.timeouts).toEqual({ requestMs: 20_000, connectMs: 2_000, tokenMs: 1_500 });
    expect(config.limits).toEqual({ inFlightPerEnvironment: 256, connections: 7, bodyBytes: 262_144 });
  });
});
