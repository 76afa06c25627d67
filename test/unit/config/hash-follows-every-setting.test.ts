import { expect, test } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { explain } from "../../../src/config/explain.ts";
import { toYaml } from "../../../src/config/files/yaml.ts";
import {
  authority,
  clientCertificate,
  clientKey,
  expiredCertificate,
  serverCertificate,
  serverKey,
} from "../../../testkit/certificates.ts";
import { ConfigFolder, canaries, edited, sound, tokenKey } from "../../../testkit/config-folder.ts";
import { atTheEnd, inSandbox, inSite3, operations } from "./refusal.ts";

// Each configuration has its own hash: if a setting did not change the hash, it would look, on every dashboard, as if it had not
// been rolled out.

const place = '"127.0.0.1:7411", environment: sandbox';
const set = "{ name: blue, dir: DIR/blue }";
const written = (secret: string) => `{ name: blue, clientId: a, clientSecret: { file: DIR/${secret} }, audience: b }`;

const variants: readonly string[] = [
  sound,
  edited(['"127.0.0.1:7411"', '"127.0.0.1:7410"']),
  edited(['"127.0.0.1:7411"', '"unix:/run/a.sock"']),
  edited(['"127.0.0.1:7411", environment: sandbox', '"127.0.0.1:7411", environment: sandbox, hosts: [app]']),
  ...[
    "anyone",
    "{ b: { token: [ { file: DIR/main }, { file: DIR/green } ] } }",
    "{ b: { token: [ { file: DIR/green }, { file: DIR/main } ] } }",
    ...["server-cert", "reissued-cert"].map(
      (cert) => `{ b: { certificate: b } }, mtls: { caFile: ca, certFile: ${cert}, keyFile: server-key }`,
    ),
    ...["", ", sites: [S1000000001]", ", sites: [S1000000003]", ", operations: [create_order]"].map(
      (rights) => `{ a: { token: { file: DIR/main }${rights} } }`,
    ),
    ...[1, 2].map((rate) => `{ a: { token: { file: DIR/main }, requestsPerSecond: ${rate} } }`),
    "{ b: { token: { file: DIR/main } } }",
    "{ b: { token: { file: DIR/green } } }",
    ...["ca", "other-ca"].map(
      (ca) => `{ b: { certificate: b } }, mtls: { caFile: ${ca}, certFile: cert, keyFile: key }`,
    ),
    "{ b: { certificate: c } }, mtls: { caFile: ca, certFile: cert, keyFile: key }",
  ].map((callers) => edited([place, `${place}, callers: ${callers}`])),
  edited(['":7412"', '"127.0.0.1:7412"']),
  edited(['":7412"', '":7412", hosts: [proxy-1]']),
  edited(['"127.0.0.1:7413"', '"127.0.0.1:7414"']),
  edited(["api.sandbox.example/json-api", "api.sandbox.example"]),
  edited(["login.sandbox.example", "login.sandbox.example/tenant"]),
  edited(["[create_order]", '["*"]']),
  edited(["    defaultSite: S1000000001\n", ""]),
  ...[
    "forwardHeaders: [x-tenant]",
    "undecided: []",
    "undecided: [502]",
    "undecided: [502, 504]",
    "via: false",
    "keepAlive: { requests: 1 }",
    "keepAlive: { requests: 2 }",
    "allowPlaintext: true",
    "tls: { caFile: ca }",
    "tls: { caFile: other-ca }",
    "tls: { certFile: cert, keyFile: key }",
  ].map(inSandbox),
  ...[
    "methods: [GET]",
    "methods: [GET, PUT]",
    "methods: [GET], upgrade: websocket",
    "methods: [GET], site: S1000000001",
    "methods: [GET], upstreamPrefix: /store/",
    "methods: [GET], idleTimeout: 5s",
  ].map((route) => inSandbox(`passThrough: [ { prefix: /files/, ${route} } ]`)),
  ...[
    "proxy: http://a:3128",
    "proxy: http://a:3129",
    "proxy: https://a:3128",
    "proxy: http://a:3128, auth: { file: proxy-auth }",
    "proxy: http://a:3128, auth: { file: other-auth }",
    "proxy: http://a:3128, noProxy: [a]",
    "proxy: http://a:3128, noProxy: [login.sandbox.example]",
    "proxy: https://a:3128, tls: { caFile: ca }",
    "proxy: https://a:3128, tls: { certFile: cert, keyFile: key }",
  ].map((egress) => inSandbox(`egress: { ${egress} }`)),
  ...[
    "{ clientAuth: basic }",
    "{ clientAuth: tls }",
    "{ body: json }",
    "{ audience: c }",
    "{ scope: a }",
    "{ resource: a }",
    "{ extra: { a: b } }",
    "{ extra: { a: c } }",
    "{ lifetime: 1h }",
    '{ url: "https://login.example/token" }',
  ].map((token) => {
    const proof = token.includes("tls") ? "" : "clientSecret: { file: DIR/green }, ";
    const audience = token.includes("audience") ? "" : "audience: b, ";
    return edited(
      [set, `{ name: blue, clientId: a, ${proof}${audience}token: ${token} }`],
      [operations, `${operations}    tls: { certFile: cert, keyFile: key }\n`],
    );
  }),
  ...["a", "b"].map((file) => {
    const token = `{ clientAuth: { assertion: { file: ${file} } } }`;
    return edited([set, `{ name: blue, clientId: a, audience: b, token: ${token} }`]);
  }),
  ...["{}", "{ audience: a }", "{ keyId: a }", "{ algorithm: ES256, keyId: b }", "{ certFile: cert }"].map(
    (assertion) => {
      const token = `{ clientAuth: private_key_jwt, assertion: ${assertion} }`;
      return edited([set, `{ name: blue, clientId: a, privateKey: { file: key }, audience: b, token: ${token} }`]);
    },
  ),
  ...[
    "checkCallerSignature: report",
    'version: "3.1"',
    "identifyBy: key",
    "characters: warn",
    "exempt: [call]",
    "decimals: [fee]",
  ].map(inSite3),
  edited(["K2000000001", "K2000000002"]),
  edited(["DIR/k1", "DIR/k2"]),
  edited([set, "{ name: other, dir: DIR/blue }"]),
  edited([set, written("green")]),
  edited([set, written("main")]),
  edited([set, `${set}\n        children: { S2: {} }`]),
  ...[
    "timeouts: { request: 19s }",
    "acknowledge: [secret_short]",
    "timeouts: { connect: 1s }",
    "timeouts: { token: 4s }",
    "limits: { inFlightPerEnvironment: 255 }",
    "limits: { connections: 1000 }",
    "limits: { bodyBytes: 1024 }",
    "limits: { bufferedBytes: 16777216 }",
    "log: { level: debug }",
    "log: { upstreamHeaders: [] }",
    "readiness: token",
    "reload: { unreadyAfterRefusal: 60s }",
    "reload: { unreadyAfterRefusal: 61s }",
    "drain: { min: 1s }",
    "docs: { baseUrl: https://docs.example }",
  ].map(atTheEnd),
  ...[
    "a/v1/traces }",
    "b/v1/traces }",
    "a/v1/traces, headers: { x-a: { file: main } } }",
    "a/v1/traces, headers: { x-b: { file: main } } }",
    "a/v1/traces, headers: { x-a: { file: green } } }",
    "a/v1/traces, tls: { caFile: ca } }",
    "a/v1/traces }, sampleRatio: 0.5",
    "a/v1/traces }, serviceName: pay",
    "a/v1/traces }, resource: { a: b }",
    "a/v1/traces }, resource: { a: c }",
    "a/v1/traces }, propagate: never",
  ].map((settings) => atTheEnd(`tracing: { otlp: { endpoint: https://${settings} }`)),
  ...[
    "a }",
    "b }",
    "a, timeout: 5s }",
    "a, tls: { caFile: ca } }",
    "a }, exempt: [call]",
    "a }, remember: 24h",
    "a }, replay: strict",
    "a }, mtls: { caFile: ca, certFile: cert, keyFile: key }",
  ].map((settings) => withCallbacks("127.0.0.1:7415", settings)),
  withCallbacks("127.0.0.1:7416", "a }"),
  ...[
    "url: redis://a",
    "url: redis://b",
    "url: redis://a:6380",
    "url: redis://a/1",
    "url: rediss://a",
    "url: rediss://a, tls: { caFile: ca }",
    "url: rediss://a, tls: { caFile: other-ca }",
    "url: rediss://a, tls: { certFile: cert, keyFile: key }",
    'url: "unix:/run/a"',
    'url: "unix:/run/b"',
    'url: "unix:/run/a?db=1"',
    "url: redis://a, password: { file: main }",
    "url: redis://a, password: { file: green }",
    "url: redis://a, username: u, password: { file: main }",
    "url: redis://a, username: v, password: { file: main }",
    "url: redis://a, username: { file: DIR/blue/client-id }, password: { file: main }",
    "url: redis://a, lockNodes: [redis://b, redis://c]",
    "url: redis://a, lockNodes: [redis://b, redis://d]",
    'sentinel: { name: m, nodes: ["a:1"] }',
    'sentinel: { name: n, nodes: ["a:1"] }',
    'sentinel: { name: m, nodes: ["a:2"] }',
    'sentinel: { name: m, nodes: ["a:1", "b:1"] }',
    'sentinel: { name: m, nodes: ["a:1"] }, tls: {}',
    'sentinel: { name: m, nodes: ["a:1"] }, password: { file: main }',
    'sentinel: { name: m, nodes: ["a:1"], password: { file: main } }',
    'sentinel: { name: m, nodes: ["a:1"], password: { file: green } }',
    'cluster: { nodes: ["a:1"] }',
    'cluster: { nodes: ["b:1"] }',
    'cluster: { nodes: ["a:1"] }, tls: {}',
  ].map((settings) => withRedis(settings, "token-key")),
  withRedis("url: redis://a", "other-key"),
  withRedis("url: redis://a", "token-key", "other-key"),
  `${withRedis("url: redis://a", "token-key")}once: { ttl: 1h }\n`,
  `${withRedis("url: redis://a", "token-key")}once: { ttl: 2h }\n`,
  withRedis("url: redis://a", "other-key", "token-key"),
];

const load = async (folder: ConfigFolder, yaml: string): Promise<Config> => (await folder.loadSound(yaml)).config;
const hashOf = async (folder: ConfigFolder, yaml: string): Promise<string> => (await load(folder, yaml)).hash;

test("every variant has its own hash, and the same hash when it is loaded again", async () => {
  const folder = folderOfVariants();
  const yamlOf = new Map<string, string>();
  for (const yaml of variants) {
    const hash = await hashOf(folder, yaml);
    expect(yamlOf.get(hash), `the same hash ${hash}`).toBeUndefined();
    yamlOf.set(hash, yaml);
  }
  for (const [hash, yaml] of yamlOf) expect(await hashOf(folder, yaml)).toBe(hash);
});

test("the configuration that check prints means the same when it is loaded again", async () => {
  const folder = folderOfVariants();
  for (const yaml of variants) {
    const config = await load(folder, yaml);
    const again = await load(folder, toYaml(explain(config)));
    expect(again.hash, yaml).toBe(config.hash);
    expect(explain(again), yaml).toEqual(explain(config));
  }
});

test("the hash does not depend on how a setting is written", async () => {
  const folder = folderOfVariants();
  const hash = await hashOf(folder, sound);
  expect(await hashOf(folder, `${sound}timeouts: { request: 20000ms } # as by default\n`)).toBe(hash);
  expect(await hashOf(folder, edited(["https://login.sandbox.example", "https://LOGIN.sandbox.example:443/"]))).toBe(
    hash,
  );
  const redisHash = await hashOf(folder, withRedis("url: redis://a", "token-key"));
  expect(await hashOf(folder, withRedis('url: "redis://A:6379/0"', "token-key"))).toBe(redisHash);
});

test("the hash has 12 hex digits, and does not depend on the place of a secret", async () => {
  const folder = folderOfVariants();
  folder.write("elsewhere", `${canaries.key}\n`);
  const hash = await hashOf(folder, sound);
  expect(hash).toMatch(/^[0-9a-f]{12}$/);
  expect(await hashOf(folder, edited(["DIR/k1", "DIR/elsewhere"]))).toBe(hash);
});

/** @param settings in YAML, from the path of the application's URL on */
function withCallbacks(bind: string, settings: string): string {
  const application = `application: { url: http://127.0.0.1:8080/${settings}`;
  return atTheEnd(`callbacks: [ { environment: sandbox, bind: "${bind}", ${application} } ]`);
}

function withRedis(settings: string, ...keys: readonly string[]): string {
  const files = keys.map((key) => `{ file: ${key} }`).join(", ");
  return `${sound}tokens: { cache: redis }\nredis: { ${settings}, encryptionKeys: [ ${files} ] }\n`;
}

function folderOfVariants(): ConfigFolder {
  return new ConfigFolder({
    "other-key": tokenKey.replace("0", "1"),
    "proxy-auth": "user:canary-proxy-one",
    "other-auth": "user:canary-proxy-two",
    ca: authority,
    "other-ca": serverCertificate,
    cert: clientCertificate,
    key: clientKey,
    "server-cert": serverCertificate,
    "reissued-cert": expiredCertificate,
    "server-key": serverKey,
  });
}
