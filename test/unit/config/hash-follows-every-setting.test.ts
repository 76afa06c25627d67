import { expect, test } from "vitest";
import {
  authority,
  clientCertificate,
  clientKey,
  expiredCertificate,
  serverCertificate,
  serverKey,
} from "../../../testkit/certificates.ts";
import { ConfigFolder, edited, sound, tokenKey } from "../../../testkit/config-folder.ts";

// One hash for one configuration: a setting that does not change it would look, on every dashboard, as if it had not
// been rolled out.

const inSandbox = "    operations: [create_order]\n";
const inSite3 = "      S1000000003:\n";
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
    "{ tokens: [ { file: DIR/main } ] }",
    "{ tokens: [ { file: DIR/green } ] }",
    "{ tokens: [ { file: DIR/main }, { file: DIR/green } ] }",
    "{ tokens: [ { file: DIR/green }, { file: DIR/main } ] }",
    "{ mtls: { caFile: ca, certFile: cert, keyFile: key } }",
    "{ mtls: { caFile: other-ca, certFile: cert, keyFile: key } }",
    "{ mtls: { caFile: ca, certFile: server-cert, keyFile: server-key } }",
    "{ mtls: { caFile: ca, certFile: reissued-cert, keyFile: server-key } }",
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
  edited([inSandbox, `${inSandbox}    forwardHeaders: [x-tenant]\n`]),
  edited([inSandbox, `${inSandbox}    undecided: [502]\n`]),
  edited([inSandbox, `${inSandbox}    undecided: [502, 504]\n`]),
  edited([inSandbox, `${inSandbox}    via: false\n`]),
  ...[
    "methods: [GET]",
    "methods: [GET, PUT]",
    "methods: [GET], upgrade: websocket",
    "methods: [GET], site: S1000000001",
    "methods: [GET], upstreamPrefix: /store/",
    "methods: [GET], idleTimeout: 5s",
  ].map((route) => edited([inSandbox, `${inSandbox}    passThrough: [ { prefix: /files/, ${route} } ]\n`])),
  edited([inSandbox, `${inSandbox}    allowPlaintext: true\n`]),
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
  ].map((egress) => edited([inSandbox, `${inSandbox}    egress: { ${egress} }\n`])),
  edited([inSandbox, `${inSandbox}    tls: { caFile: ca }\n`]),
  edited([inSandbox, `${inSandbox}    tls: { caFile: other-ca }\n`]),
  edited([inSandbox, `${inSandbox}    tls: { certFile: cert, keyFile: key }\n`]),
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
      [inSandbox, `${inSandbox}    tls: { certFile: cert, keyFile: key }\n`],
    );
  }),
  ...["{}", "{ audience: a }", "{ keyId: a }", "{ algorithm: ES256, keyId: b }", "{ certFile: cert }"].map(
    (assertion) => {
      const token = `{ clientAuth: private_key_jwt, assertion: ${assertion} }`;
      return edited([set, `{ name: blue, clientId: a, privateKey: { file: key }, audience: b, token: ${token} }`]);
    },
  ),
  edited([inSite3, `${inSite3}        checkCallerSignature: report\n`]),
  edited([inSite3, `${inSite3}        version: "3.1"\n`]),
  edited([inSite3, `${inSite3}        identifyBy: key\n`]),
  edited([inSite3, `${inSite3}        characters: warn\n`]),
  edited([inSite3, `${inSite3}        exempt: [call]\n`]),
  edited([inSite3, `${inSite3}        decimals: [fee]\n`]),
  edited(["K2000000001", "K2000000002"]),
  edited(["DIR/k1", "DIR/k2"]),
  edited([set, "{ name: other, dir: DIR/blue }"]),
  edited([set, written("green")]),
  edited([set, written("main")]),
  edited([set, `${set}\n        children: { S2: {} }`]),
  `${sound}timeouts: { request: 19s }\n`,
  `${sound}acknowledge: [secret_short]\n`,
  `${sound}timeouts: { connect: 1s }\n`,
  `${sound}timeouts: { token: 4s }\n`,
  `${sound}limits: { inFlightPerEnvironment: 255 }\n`,
  `${sound}limits: { connections: 1000 }\n`,
  `${sound}limits: { bodyBytes: 1024 }\n`,
  `${sound}limits: { bufferedBytes: 16777216 }\n`,
  `${sound}log: { level: debug }\n`,
  `${sound}log: { upstreamHeaders: [] }\n`,
  `${sound}readiness: token\n`,
  `${sound}reload: { unreadyAfterRefusal: 60s }\n`,
  `${sound}reload: { unreadyAfterRefusal: 61s }\n`,
  `${sound}drain: { minSeconds: 1 }\n`,
  ...[
    "otlp: { endpoint: https://a/v1/traces }",
    "otlp: { endpoint: https://b/v1/traces }",
    "otlp: { endpoint: https://a/v1/traces, headers: { x-a: { file: main } } }",
    "otlp: { endpoint: https://a/v1/traces, headers: { x-b: { file: main } } }",
    "otlp: { endpoint: https://a/v1/traces, headers: { x-a: { file: green } } }",
    "otlp: { endpoint: https://a/v1/traces, tls: { caFile: ca } }",
    "otlp: { endpoint: https://a/v1/traces }, sampleRatio: 0.5",
    "otlp: { endpoint: https://a/v1/traces }, serviceName: pay",
    "otlp: { endpoint: https://a/v1/traces }, resource: { a: b }",
    "otlp: { endpoint: https://a/v1/traces }, resource: { a: c }",
    "otlp: { endpoint: https://a/v1/traces }, propagate: never",
  ].map((settings) => `${sound}tracing: { ${settings} }\n`),
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

function withRedis(settings: string, ...keys: readonly string[]): string {
  const files = keys.map((key) => `{ file: ${key} }`).join(", ");
  return `${sound}tokens: { cache: redis }\nredis: { ${settings}, encryptionKeys: [ ${files} ] }\n`;
}

async function hashOf(folder: ConfigFolder, yaml: string): Promise<string> {
  const loaded = await folder.load(yaml);
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  return loaded.config.hash;
}

function folderOfVariants(): ConfigFolder {
  const folder = new ConfigFolder();
  folder.write("token-key", tokenKey);
  folder.write("other-key", tokenKey.replace("0", "1"));
  folder.write("proxy-auth", "user:canary-proxy-one");
  folder.write("other-auth", "user:canary-proxy-two");
  folder.write("ca", authority);
  folder.write("other-ca", serverCertificate);
  folder.write("cert", clientCertificate);
  folder.write("key", clientKey);
  folder.write("server-cert", serverCertificate);
  folder.write("reissued-cert", expiredCertificate);
  folder.write("server-key", serverKey);
  return folder;
}

test("every variant has a hash of its own, and the same one again", async () => {
  const folder = folderOfVariants();
  const yamlOf = new Map<string, string>();
  for (const yaml of variants) {
    const hash = await hashOf(folder, yaml);
    expect(yamlOf.get(hash), `the same hash ${hash}`).toBeUndefined();
    yamlOf.set(hash, yaml);
  }
  for (const [hash, yaml] of yamlOf) expect(await hashOf(folder, yaml)).toBe(hash);
});

test("how a setting is written plays no part", async () => {
  const folder = folderOfVariants();
  const hash = await hashOf(folder, sound);
  expect(await hashOf(folder, `${sound}timeouts: { request: 20000ms } # as by default\n`)).toBe(hash);
  expect(await hashOf(folder, edited(["https://login.sandbox.example", "https://LOGIN.sandbox.example:443/"]))).toBe(
    hash,
  );
  const redisHash = await hashOf(folder, withRedis("url: redis://a", "token-key"));
  expect(await hashOf(folder, withRedis('url: "redis://A:6379/0"', "token-key"))).toBe(redisHash);
});

test("a section redis that is not used plays no part", async () => {
  const folder = folderOfVariants();
  const unused = withRedis("url: redis://a", "token-key").replace("cache: redis", "cache: memory");
  expect(await hashOf(folder, unused)).toBe(await hashOf(folder, sound));
});
