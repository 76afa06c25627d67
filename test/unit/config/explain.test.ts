import { expect, test } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { explain, routes } from "../../../src/config/explain.ts";
import { authority, serverCertificate, serverKey } from "../../../testkit/certificates.ts";
import { ConfigFolder, edited, production } from "../../../testkit/config-folder.ts";
import { inSite1, listener } from "./refusal.ts";

test("the configuration in effect has every default, and the content of folders, but no secret", async () => {
  const folder = new ConfigFolder();
  const yaml = edited(["{ file: DIR/k1 }", "{ env: API_KEY }"]);
  const explained = explain(await load(folder, yaml, { API_KEY: "canary-of-good-length" }));
  expect(explained).toMatchObject({
    ...{ timeouts: { request: "20s", connect: "2s", token: "5s" }, admin: { bind: ":7412" } },
    environments: { sandbox: { allowPlaintext: false } },
  });
  const sites = "environments.sandbox.sites";
  const clientSecret = { file: `${folder.path}/blue/client-secret` };
  expect(explained).toHaveProperty(
    `${sites}.S1000000001`,
    expect.objectContaining({
      ...{ auth: ["oauth"], version: "3.0", exempt: ["format", "signature", "call"] },
      credentials: [{ name: "blue", clientId: "blue-id", clientSecret, audience: "https://api.sandbox.example" }],
    }),
  );
  const key = expect.objectContaining({ default: true, version: "3.0", secret: { env: "API_KEY" } });
  expect(explained).toHaveProperty(`${sites}.S1000000003`, expect.objectContaining({ auth: ["hmac"], keys: [key] }));
  expect(JSON.parse(JSON.stringify(explained))).toEqual(explained);
});

test("in the configuration in effect a child site has the settings that it inherits", async () => {
  const yaml = inSite1("decimals: [fee]\n        children: { S2: { characters: warn } }");
  const explained = explain(await load(new ConfigFolder(), yaml));
  const path = "environments.sandbox.sites.S1000000001.children.S2";
  expect(explained).toHaveProperty(
    path,
    expect.objectContaining({ auth: ["oauth"], decimals: ["fee"], characters: "warn" }),
  );
  expect(explained).not.toHaveProperty(`${path}.credentials`);
});

test("the content of a child site's own folder is in the configuration in effect, and the file's content stays as it is", async () => {
  const folder = new ConfigFolder({
    "own/client-id": "own-id",
    "own/client-secret": "canary-of-good-length",
    "own/audience": "own-aud",
  });
  const config = await load(folder, inSite1("children: { S2: { credentials: [ { name: own, dir: DIR/own } ] } }"));
  const clientSecret = { file: `${folder.path}/own/client-secret` };
  const { S1000000001 } = Object(explain(config)).environments.sandbox.sites;
  expect(S1000000001.credentials).toMatchObject([{ name: "blue", clientId: "blue-id" }]);
  const own = { name: "own", clientId: "own-id", audience: "own-aud", clientSecret };
  expect(S1000000001.children.S2.credentials).toEqual([own]);
  const { sites } = config.written?.environments["sandbox"] ?? expect.unreachable();
  expect(sites).toMatchObject({ S1000000001: { credentials: [{ name: "blue", dir: `${folder.path}/blue` }] } });
});

test.each([
  ["", ""],
  [", callers: anyone", "; anyone may call"],
  [", callers: { a: { token: { file: DIR/main } }, b: { token: [{ env: OLD }] } }", "; callers by token: a, b"],
  [
    `, mtls: { caFile: ca, certFile: cert, keyFile: key }, callers: { a: { certificate: "urn:a" }, b: { certificate: b },
        c: { certificate: c }, d: { certificate: d }, e: { certificate: e }, f: { certificate: f } }`,
    "; callers by certificate: a, b, c, d, e and 1 more",
  ],
])("routes say who may call listener%s", async (written, told) => {
  const folder = new ConfigFolder({ ca: authority, cert: serverCertificate, key: serverKey });
  const place = '"127.0.0.1:7411", environment: sandbox';
  const config = await load(folder, edited([place, `${place}${written}`]), { OLD: "canary-of-good-length" });
  expect(routes(config)).toEqual([
    `127.0.0.1:7411 leads to sandbox: https://api.sandbox.example/json-api (create_order)${told}`,
  ]);
});

test("routes say where each listener leads", async () => {
  const more = ["[::1]:7414", "unix:/run/a.sock"].map((bind) => `  - { bind: "${bind}", environment: production }\n`);
  const yaml = `${edited([listener, [listener, ...more].join("")])}${production.replace("[create_order]", '["*"]')}`;
  const lines = routes(await load(new ConfigFolder(), yaml));
  expect(lines).toEqual([
    "127.0.0.1:7411 leads to sandbox: https://api.sandbox.example/json-api (create_order)",
    "[::1]:7414 leads to production: https://api.example (*)",
    "unix:/run/a.sock leads to production: https://api.example (*)",
  ]);
});

async function load(folder: ConfigFolder, yaml: string, env = {}): Promise<Config> {
  return (await folder.loadSound(yaml, { env })).config;
}
