import { describe, expect, test } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { explain, routes } from "../../../src/config/explain.ts";
import { authority, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { ConfigFolder, edited, production, sound, tokenKey } from "../../../testkit/config-folder.ts";

async function load(folder: ConfigFolder, yaml: string, env = {}): Promise<Config> {
  const loaded = await folder.load(yaml, { env });
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

test("the effective configuration says where every secret came from", async () => {
  const folder = new ConfigFolder();
  const config = await load(folder, edited(["{ file: DIR/k1 }", "{ env: API_KEY }"]), {
    API_KEY: "canary-of-good-length",
  });
  expect(explain(config)).toMatchObject({
    environments: {
      sandbox: {
        sites: {
          S1000000001: {
            credentials: [{ name: "blue", clientSecret: `[secret from file ${folder.path}/blue/client-secret]` }],
          },
          S1000000003: { keys: [{ identifier: "K2000000001", default: true, secret: "[secret from env API_KEY]" }] },
        },
      },
    },
    timeouts: { request: "20s", connect: "2s", token: "5s" },
    admin: { bind: ":7412" },
  });
});

test("the effective configuration says how tokens are asked for, where that is not the service's own way", async () => {
  const folder = new ConfigFolder();
  const settings =
    '{ url: "https://login.example/o/token/", clientAuth: basic, scope: a b, extra: { x: y }, lifetime: 90m }';
  const config = await load(
    folder,
    edited(["    authUrl: https://login.sandbox.example\n", `    token: ${settings}\n`]),
  );
  expect(explain(config)).toMatchObject({
    environments: {
      sandbox: {
        sites: {
          S1000000001: {
            credentials: [
              {
                audience: "https://api.sandbox.example",
                token: {
                  url: "https://login.example/o/token/",
                  clientAuth: "basic",
                  body: "form",
                  scope: "a b",
                  extra: { x: "y" },
                  lifetime: "5400s",
                },
              },
            ],
          },
        },
      },
    },
  });
});

describe("the effective configuration says who may call a listener, and where the secrets for that came from", () => {
  const listener = { bind: "127.0.0.1:7411", environment: "sandbox", hosts: [] };
  test.each([
    ["", {}, ""],
    [", callers: anyone", { callers: "anyone" }, "; anyone may call"],
    [
      ", callers: { tokens: [ { file: DIR/main }, { env: OLD } ] }",
      {
        callers: {
          tokens: [
            { name: "main", token: "[secret from file DIR/main]" },
            { name: "OLD", token: "[secret from env OLD]" },
          ],
        },
      },
      "; callers by token",
    ],
    [
      ", callers: { mtls: { caFile: ca, certFile: cert, keyFile: key } }",
      { callers: { mtls: { key: "[secret from file DIR/key]" } } },
      "; callers by certificate",
    ],
    [
      ", callers: { a: { token: { file: DIR/main }, sites: [S1000000003], requestsPerSecond: 5 }, b: { token: [{ env: OLD }] } }",
      {
        callers: {
          a: {
            token: ["[secret from file DIR/main]"],
            sites: ["S1000000003"],
            operations: "any",
            requestsPerSecond: 5,
          },
          b: { token: ["[secret from env OLD]"], sites: "any", operations: "any" },
        },
      },
      "; callers by token: a, b",
    ],
    [
      `, mtls: { caFile: ca, certFile: cert, keyFile: key }, callers: { a: { certificate: "urn:a" }, b: { certificate: b },
        c: { certificate: c }, d: { certificate: d }, e: { certificate: e }, f: { certificate: f } }`,
      {
        mtls: { key: "[secret from file DIR/key]" },
        callers: Object.fromEntries(
          ["URI:urn:a", "DNS:b", "DNS:c", "DNS:d", "DNS:e", "DNS:f"].map((name) => [
            name.at(-1),
            { certificate: [name], sites: "any", operations: "any" },
          ]),
        ),
      },
      "; callers by certificate: a, b, c, d, e and 1 more",
    ],
  ])("listener%s", async (written, explained, told) => {
    const folder = new ConfigFolder();
    folder.write("ca", authority);
    folder.write("cert", serverCertificate);
    folder.write("key", serverKey);
    const place = '"127.0.0.1:7411", environment: sandbox';
    const config = await load(folder, edited([place, `${place}${written}`]), { OLD: "canary-of-good-length" });
    const { listeners } = JSON.parse(JSON.stringify(explain(config)).replaceAll(folder.path, "DIR"));
    expect(listeners).toEqual([{ ...listener, ...explained }]);
    expect(routes(config)).toEqual([
      `127.0.0.1:7411 leads to sandbox: https://api.sandbox.example/json-api (create_order)${told}`,
    ]);
  });
});

test("the effective configuration says whether plain http is allowed", async () => {
  const folder = new ConfigFolder();
  expect(explain(await load(folder, sound))).toMatchObject({ environments: { sandbox: { allowPlaintext: false } } });
  const operations = "    operations: [create_order]\n";
  const open = edited([operations, `${operations}    allowPlaintext: true\n`]);
  expect(explain(await load(folder, open))).toMatchObject({ environments: { sandbox: { allowPlaintext: true } } });
});

test("the effective configuration is plain: it survives JSON unchanged", async () => {
  const explained = explain(await load(new ConfigFolder(), sound));
  expect(JSON.parse(JSON.stringify(explained))).toEqual(explained);
});

describe("the effective section redis", () => {
  async function explainRedis(settings: string, keys = "{ file: token-key }") {
    const folder = new ConfigFolder();
    folder.write("token-key", tokenKey);
    folder.write("ca", authority);
    const yaml = `${sound}tokens: { cache: redis }\nredis: { ${settings}, encryptionKeys: [ ${keys} ] }\n`;
    const explained = explain(await load(folder, yaml, { OLD_KEY: tokenKey.replace("0", "1") }));
    expect(JSON.parse(JSON.stringify(explained))).toEqual(explained);
    expect(explained).toMatchObject({ tokens: { cache: "redis" } });
    const { redis } = explained as { redis?: object };
    return JSON.parse(JSON.stringify(redis).replaceAll(folder.path, "DIR"));
  }
  const encryptionKeys = ["[secret from file DIR/token-key]"];

  test("says where it is, as whom, and where the secrets came from", async () => {
    const settings =
      'url: "rediss://Cache/2", username: u, password: { file: main }, lockNodes: ["rediss://[0::1]:6380", rediss://c/1], tls: { caFile: ca }';
    expect(await explainRedis(settings, "{ file: token-key }, { env: OLD_KEY }")).toEqual({
      url: "rediss://cache:6379/2",
      username: "u",
      password: "[secret from file DIR/main]",
      tls: { privateCa: true, clientCertificate: false },
      lockNodes: ["rediss://[::1]:6380", "rediss://c:6379/1"],
      encryptionKeys: [...encryptionKeys, "[secret from env OLD_KEY]"],
    });
  });

  test.each([
    ['url: "unix:/run/a.sock?db=0"', { url: "unix:/run/a.sock" }],
    ['url: "unix:/run/a.sock?db=1"', { url: "unix:/run/a.sock?db=1" }],
    [
      'sentinel: { name: m, nodes: ["a:1", "[::1]:2"], password: { file: green } }',
      { sentinel: { name: "m", nodes: ["a:1", "[::1]:2"], password: "[secret from file DIR/green]" } },
    ],
    ['sentinel: { name: m, nodes: ["a:1"] }', { sentinel: { name: "m", nodes: ["a:1"] } }],
    [
      'cluster: { nodes: ["a:1"] }, tls: {}',
      { cluster: { nodes: ["a:1"] }, tls: { privateCa: false, clientCertificate: false } },
    ],
  ])("%s", async (settings, expected) => {
    expect(await explainRedis(settings)).toEqual({ ...expected, lockNodes: [], encryptionKeys });
  });

  test("is not there while tokens are kept in memory", async () => {
    const folder = new ConfigFolder();
    folder.write("token-key", tokenKey);
    const config = await load(folder, `${sound}redis: { url: redis://a, encryptionKeys: [ { file: token-key } ] }\n`);
    expect(explain(config)).toMatchObject({ tokens: { cache: "memory" } });
    expect(explain(config)).not.toHaveProperty("redis");
  });
});

test("routes say where each listener leads", async () => {
  const listener = '  - { bind: "127.0.0.1:7411", environment: sandbox }\n';
  const more =
    '  - { bind: "[::1]:7414", environment: production }\n  - { bind: "unix:/run/a.sock", environment: production }\n';
  const yaml = `${edited([listener, `${listener}${more}`])}${production.replace("[create_order]", '["*"]')}`;
  const lines = routes(await load(new ConfigFolder(), yaml));
  expect(lines).toEqual([
    "127.0.0.1:7411 leads to sandbox: https://api.sandbox.example/json-api (create_order)",
    "[::1]:7414 leads to production: https://api.example (*)",
    "unix:/run/a.sock leads to production: https://api.example (*)",
  ]);
});

describe("the hash of a configuration", () => {
  test("is 12 hex digits and the same for the same content", async () => {
    const [a, b] = [await load(new ConfigFolder(), sound), await load(new ConfigFolder(), sound)];
    expect(a.hash).toMatch(/^[0-9a-f]{12}$/);
    expect(a.hash).toBe(b.hash);
  });

  test.each([
    ["a setting", edited(["[create_order]", "[create_order, other]"]), {}],
    ["the order of credential sets", edited(["name: blue", "name: green"]), {}],
    ["a secret's content", sound, { k1: "canary-api-secret-key-other" }],
    ["a client secret's content", sound, { "blue/client-secret": "canary-client-secret-other" }],
    ["an audience", sound, { "blue/audience": "https://other.example" }],
  ])("changes with %s", async (_, yaml, files) => {
    const folder = new ConfigFolder();
    const before = await load(folder, sound);
    for (const [name, content] of Object.entries(files)) folder.write(name, content);
    expect((await load(folder, yaml)).hash).not.toBe(before.hash);
  });

  test("does not change with where a secret lies", async () => {
    const folder = new ConfigFolder();
    const before = await load(folder, sound);
    folder.write("elsewhere", "canary-api-secret-key-one\n");
    expect((await load(folder, edited(["DIR/k1", "DIR/elsewhere"]))).hash).toBe(before.hash);
  });
});
