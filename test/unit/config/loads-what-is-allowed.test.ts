import { describe, expect, test } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { ConfigFolder, edited, production, sound } from "../../../testkit/config-folder.ts";
import { blue, inSite1, listener } from "./refusal.ts";

// The counterpart of the refusals: documented settings, and settings that resemble a refused one but must work.

/** An example with each kind of site. */
const example = edited([
  blue,
  `${blue}          - { name: green, clientId: abc, clientSecret: { file: DIR/green }, audience: a }
        children: { S1000000002: {}, S1000000004: { credentials: [ { name: own, dir: DIR/own } ] } }
`,
]);

const defaults = {
  tokens: { cache: "memory" },
  timeouts: { requestMs: 20_000, connectMs: 2_000, tokenMs: 5_000 },
  limits: { inFlightPerEnvironment: 256, connections: 1_024, bodyBytes: 262_144 },
  log: { level: "info", upstreamHeaders: ["x-request-id"] },
};

describe("the example", () => {
  test("gives the parts of each address, and an index of sites and keys", async () => {
    const sandbox = (await load(example)).environments.get("sandbox");
    const baseUrl = { origin: "https://api.sandbox.example", port: 443, path: "/json-api" };
    expect(sandbox).toMatchObject({ baseUrl, authUrl: { path: "" }, operations: new Set(["create_order"]) });
    expect([...(sandbox?.sites.keys() ?? [])]).toEqual(["S1000000001", "S1000000002", "S1000000004", "S1000000003"]);
    expect(sandbox?.siteOfKey.get("K2000000001")).toBe(sandbox?.sites.get("S1000000003"));
  });

  test("has a single site as its default, and no default among several", async () => {
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

describe("a setting that is left out", () => {
  test("has its documented default", async () => {
    const config = await load(sound);
    const more = { readiness: "listening", reload: { unreadyAfterRefusalMs: undefined }, drain: { minMs: 0 } };
    expect(config).toMatchObject({ ...defaults, ...more });
    const sandbox = config.environments.get("sandbox");
    const tls = { ca: undefined, cert: undefined, key: undefined };
    expect(sandbox).toMatchObject({ undecided: "5xx", forwardHeaders: [], via: true, tls });
    expect(sandbox?.sites.get("S1000000003")).toMatchObject({
      ...{ version: "3.0", identifyBy: "site", characters: "reject" },
      ...{ exempt: new Set(["format", "signature", "call"]), decimals: new Set() },
    });
  });
});

test("OAuth is allowed for a version of two digits", async () => {
  const { environments } = await load(inSite1('version: "10.0"'));
  expect(environments.get("sandbox")?.sites.get("S1000000001")).toMatchObject({ version: "10.0", auth: ["oauth"] });
});

test("hosts and headers are kept in lower case", async () => {
  const yaml = edited(
    [listener, '  - { bind: "127.0.0.1:7411", environment: sandbox, hosts: [App.Internal] }\n'],
    ["    operations:", "    forwardHeaders: [X-Tenant]\n    operations:"],
  );
  const config = await load(`${yaml}log: { upstreamHeaders: [X-Correlation-Id] }\n`);
  expect(config.listeners[0]?.hosts).toEqual(["app.internal"]);
  expect(config.environments.get("sandbox")?.forwardHeaders).toEqual(["x-tenant"]);
  expect(config.log.upstreamHeaders).toEqual(["x-correlation-id"]);
});

test("YAML aliases: settings common to several sites are written once", async () => {
  const yaml = edited([
    blue,
    `${blue}        exempt: &exempt [format, call, comment]
      S5: { exempt: *exempt, credentials: [ { name: a, dir: DIR/blue } ] }
      S6: { exempt: *exempt, credentials: [ { name: a, dir: DIR/blue } ] }
`,
  ]);
  const sites = (await load(yaml)).environments.get("sandbox")?.sites;
  const exempt = new Set(["format", "call", "comment", "signature"]);
  for (const name of ["S1000000001", "S5", "S6"]) expect(sites?.get(name)?.exempt).toEqual(exempt);
});

test.each([
  ["of meaning", "timestamp", ["15 S1000000001.exempt[0]", "16 S5.exempt[0]", "16 S5"]],
  ["of form", '""', ["15 S1000000001.exempt[0]", "16 S5.exempt[0]"]],
  ["of form, beside another one", '"", keys: []', ["15 S1000000001.exempt[0]", "16 S5.exempt[0]", "16 S5.keys"]],
])("a problem %s behind an alias is at the alias's key", async (_, name, places) => {
  const [first, ...rest] = name.split(", ");
  const site = `S5: { ${["exempt: *exempt", ...rest].join(", ")} }`;
  const yaml = edited([blue, `${blue}        exempt: &exempt [${first}]\n      ${site}\n`]);
  const problems = await new ConfigFolder().problemsOf(yaml);
  const found = problems.map(({ path, line }) => `${line} ${path.replace(/^.*sites\./, "")}`);
  expect(found.sort()).toEqual(places.toSorted());
});

async function load(yaml: string): Promise<Config> {
  const own = { "own/client-id": "own-id", "own/client-secret": "canary-client-secret-own", "own/audience": "own" };
  return (await new ConfigFolder(own).loadSound(yaml)).config;
}
