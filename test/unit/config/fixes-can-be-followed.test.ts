/** What a message of form proposes, a key's other place or an example, is accepted where it is written. */
import { expect, test } from "vitest";
import { Diagnostics, formatPath, type Path, type Problem } from "../../../src/config/diagnostics.ts";
import { checkForm } from "../../../src/config/form/check-form.ts";
import { configSchema } from "../../../src/config/form/schema.ts";

/** A configuration with most of the keys. */
const whole = {
  listeners: [
    {
      bind: "127.0.0.1:7411",
      environment: "sandbox",
      hosts: ["app"],
      callers: {
        shop: { certificate: "a.example", sites: ["S1"], operations: ["create_order"], requestsPerSecond: 5 },
      },
      mtls: { caFile: "ca", certFile: "cert", keyFile: "key" },
    },
  ],
  callbacks: [
    {
      bind: "127.0.0.1:7414",
      environment: "sandbox",
      application: { url: "http://127.0.0.1:80/callbacks", timeout: "5s", tls: { caFile: "ca" } },
      exempt: ["format"],
      remember: "2h",
      replay: "strict",
    },
  ],
  admin: { bind: ":7412", hosts: ["admin"] },
  status: { bind: "127.0.0.1:7413" },
  environments: {
    sandbox: {
      baseUrl: "https://api.example",
      authUrl: "https://login.example",
      token: { clientAuth: "basic", scope: "a b", extra: { tenant: "shop" }, lifetime: "1h" },
      operations: ["create_order"],
      passThrough: [{ prefix: "/files/", methods: ["GET"], idleTimeout: "5s" }],
      defaultSite: "S1",
      tls: { caFile: "ca" },
      keepAlive: { requests: 5 },
      egress: { proxy: "http://proxy:3128", auth: { file: "auth" }, noProxy: ["a.example"] },
      undecided: [502],
      forwardHeaders: ["x-tenant"],
      via: false,
      sites: {
        S1: {
          version: "3.0",
          auth: ["oauth", "hmac"],
          bridge: "hmac",
          characters: "warn",
          credentials: [
            { name: "blue", dir: "blue" },
            { name: "green", clientId: "id", clientSecret: { file: "green" }, audience: "a" },
          ],
          keys: [{ identifier: "K1", secret: { env: "K1" }, default: true }],
          children: { S2: { decimals: ["fee"] } },
        },
      },
    },
  },
  tokens: { cache: "redis" },
  redis: { sentinel: { name: "m", nodes: ["a:1"], password: { file: "p" } }, tls: {}, encryptionKeys: [{ file: "k" }] },
  once: { ttl: "48h", wait: "2s", header: "Idempotency-Key" },
  timeouts: { request: "20s", connect: "1s" },
  limits: { connections: 5, bodyBytes: 2048 },
  log: { level: "debug", upstreamHeaders: ["x-id"] },
  metrics: { sites: "named" },
  tracing: { otlp: { endpoint: "https://otlp.example", headers: { "x-key": { file: "k" } } }, sampleRatio: 0.5 },
  readiness: "token",
  reload: { unreadyAfterRefusal: "60s" },
  drain: { min: "5s" },
  docs: { baseUrl: "https://docs.example" },
  acknowledge: ["secret_short"],
};

const all = [...placesIn(whole)];
const site: Path = ["environments", "sandbox", "sites", "S1"];
/** Mappings that a key may be put into by mistake. */
const holders: readonly Path[] = [
  [],
  ["listeners", 0],
  ["listeners", 0, "callers", "shop"],
  ["callbacks", 0],
  ["admin"],
  ["environments", "sandbox"],
  ["environments", "sandbox", "token"],
  site,
  [...site, "credentials", 1],
  [...site, "keys", 0],
  ["redis"],
  ["log"],
];

test("a key that is moved to a proposed place is accepted there", { timeout: 60_000 }, () => {
  let count = 0;
  const places = new Map(all.map((place) => [place.at(-1), place]));
  for (const [key, place] of places) {
    if (typeof key !== "string") continue;
    const without = changed(whole, place, (holder) => holder.delete(key));
    const holdersLeft = holders.filter((each) => !isWithin(each, place) && valueAt(without, each) !== undefined);
    for (const holder of holdersLeft) {
      const stray = [...holder, key];
      if (valueAt(without, stray) !== undefined) continue;
      const put = (document: object, at: Path) => changed(document, at, (map) => map.set(key, valueAt(whole, place)));
      const problem = problemsOf(put(without, stray)).find(({ path }) => path === formatPath(stray));
      const [, proposed] = /^move it to (.*), or remove it/.exec(problem?.fix ?? "") ?? [];
      for (const other of proposed?.split(" or ") ?? []) {
        count += 1;
        const known = textsOf(without);
        const fresh = textsOf(put(without, parse(other))).filter((text) => !known.includes(text));
        expect.soft(fresh, `${formatPath(stray)} moved to ${other}`).toEqual([]);
      }
    }
  }
  expect(count).toBeGreaterThan(200);
});

test.each([true, 5, "x", null, [], {}].map((wrong) => [JSON.stringify(wrong), wrong]))(
  "in place of %s at any place, the example of the message is accepted",
  (_, wrong) => {
    for (const place of all) {
      const replaced = (value: unknown) => changed(whole, place, (holder, key) => holder.set(key, value));
      for (const { path, fix } of problemsOf(replaced(wrong))) {
        const [, examples] = /, like (["[{].*)$/.exec(fix) ?? [];
        if (examples === undefined || path !== formatPath(place)) continue;
        for (const example of examples.split(" or ")) {
          const more = textsOf(replaced(JSON.parse(example)));
          const own = more.filter((text) => text.startsWith(path));
          expect.soft(own, `${path}: ${fix}`).toEqual([]);
        }
      }
    }
  },
);

test.each<[key: string, value: unknown, fix: string, others?: object]>([
  ["listeners", { bind: ":7411", environment: "sandbox" }, '[{"bind":"127.0.0.1:7411","environment":"sandbox"}]'],
  ["callbacks", {}, '"application":{"url":"http://127.0.0.1:8080/callbacks"}}]'],
  [
    "environments",
    null,
    '{"sandbox":{"baseUrl":"https://api.example/json-api","operations":["create_order"],"sites":{"S1000000001":{"credentials":[',
  ],
  ["log", "debug", '{"level":"debug"}'],
  ["drain", "5s", '{"min":"5s"}'],
  ["tokens", "redis", '{"cache":"redis"}'],
  ["once", true, '{"ttl":"24h"}'],
  ["reload", true, '{"unreadyAfterRefusal":"60s"}'],
  ["timeouts", { request: 30 }, 'ms, s, m or h, like "30s"'],
  ["timeouts", { request: "30" }, 'ms, s, m or h, like "30s"'],
  ["timeouts", { request: 5000 }, 'like "5000ms"'],
  ["drain", { min: 5 }, 'like "5s"'],
  ["once", { ttl: 1 }, 'like "1h"'],
  ["once", { ttl: "1d" }, 'ms, s, m or h, like "24h"'],
  ["redis", { encryptionKeys: "canary" }, '[{"file":"/path"}]'],
  ["sites", {}, "move it to environments.sandbox.sites, or", { environments: { sandbox: { baseUrl: "https://a" } } }],
  ["level", "debug", "move it to log.level, or", { log: undefined }],
  ["bind", ":7411", "remove it; possible keys"],
  ["sites", {}, "remove it; possible keys", { metrics: {} }],
])("%s: %j gets the fix %s", (key, value, fix, others = {}) => {
  const problems = problemsOf({ ...whole, ...others, [key]: value });
  expect(JSON.stringify(problems)).not.toContain("canary");
  const own = problems.filter(({ path }) => path === key || path.startsWith(`${key}.`));
  expect(own.map((problem) => problem.fix)).toEqual([expect.stringContaining(fix)]);
});

test.each<[path: Path, value: unknown, fix: string]>([
  [["egress"], { proxy: "proxy.example:3128" }, "it belongs at environments.sandbox.egress; possible keys: listeners"],
  [["listeners", 0, "callbacks"], { to: "x" }, "it belongs at callbacks; possible keys"],
  [["listeners", 0, "redis"], { host: "x" }, "it belongs at redis; possible keys"],
  [["endpoint"], "https://otlp.example", "it belongs at tracing.otlp.endpoint; possible keys"],
  [["environments", "sandbox", "S4"], { keys: [] }, "it belongs at environments.sandbox.sites.S4; possible keys"],
  [[...site, "S4"], { auth: ["oauth"] }, "move it to environments.sandbox.sites.S4, or remove it; possible keys"],
  [["caFile"], "ca.pem", "remove it; possible keys"],
  [
    ["listeners", 0, "caFile"],
    "ca.pem",
    "it belongs at listeners[0].mtls.caFile, in place of what is there, or remove",
  ],
  [
    ["baseUrl"],
    "https://api.example",
    "it belongs at environments.sandbox.baseUrl, in place of what is there, or remove",
  ],
  [["name"], "x", "remove it; possible keys"],
  [["constructor"], "x", "remove it; possible keys"],
  [[...site, "credentials", 1, "password"], { file: "x" }, "remove it; possible keys"],
  [["environments", "sandbox", "timeouts"], { token: "9s" }, "it belongs at timeouts, merged with what is there, or"],
  [["environments", "sandbox", "level"], "info", "it belongs at log.level, in place of what is there, or remove it"],
  [["environments", "sandbox", "folder"], "a", "it belongs at environments.sandbox.sites.folder, in place of what is"],
  [
    [...site, "audience"],
    "x",
    `it belongs at ${formatPath(site)}.credentials[1].audience, in place of what is there, or`,
  ],
  [["file"], "x", "remove it; possible keys"],
  [["weather"], "x", "remove it; possible keys"],
  [["environments", "sandbox", "egress"], { proxy: "http://a", username: "u" }, 'write auth, like {"file":"/path"}'],
  [["log", "password"], { file: "p" }, "remove it; possible keys"],
  [[...site, "keys", 0], { identifier: "K1", clientSecret: { file: "p" } }, "write secret, like"],
  [["listeners", 0, "token"], { file: "a" }, "move it to listeners[0].callers.shop.token, or"],
  [["listeners", 0, "callers", "shop", "tokens"], { file: "a" }, "did you mean token?"],
])("%j: %j gets the fix %s, whatever its value", (path, value, fix) => {
  const removed = { ...whole, redis: undefined, callbacks: undefined, tracing: undefined, docs: undefined };
  const { egress: _, token: __, ...others } = removed.environments.sandbox;
  const document = JSON.parse(JSON.stringify({ ...removed, environments: { sandbox: others } }));
  const problems = problemsOf(changed(document, path, (holder, key) => holder.set(key, value)));
  const own = problems.filter((problem) => problem.path.startsWith(formatPath(path)));
  expect(own.map((problem) => problem.fix)).toEqual([expect.stringContaining(fix)]);
  expect(own[0]?.fix.split("; possible")[0]?.split(" or ").length).toBeLessThan(5);
});

test.each([
  ["baseUrl", "https://api.example", "it belongs at environments.sandbox.baseUrl;"],
  ["bind", ":7411", "it can stand at listeners[0].bind or admin.bind;"],
  ["version", "1.0.0", "remove it"],
  ["countersign", { environments: {} }, "write what is in it without countersign: above;"],
  ["data", { "countersign.yaml": "listeners:\n" }, "write what is in it without data: and countersign.yaml: above;"],
  ["data", { "countersign.yaml": "x" }, "remove it"],
  ["name", "x", "remove it"],
])("in a file without sections the key %s: %j gets the fix %s", (key, value, fix) => {
  expect(problemsOf({ [key]: value }).find(({ path }) => path === key)?.fix).toContain(fix);
});

test("a key belongs to each of several environments", () => {
  const { sandbox } = whole.environments;
  const { authUrl: _, ...others } = sandbox;
  const document = { ...whole, environments: { sandbox: others, production: others }, authUrl: sandbox.authUrl };
  const fix = "it can stand at environments.sandbox.authUrl or environments.production.authUrl; possible keys";
  expect(problemsOf(document).find(({ path }) => path === "authUrl")?.fix).toContain(fix);
});

const sites = site.slice(0, -1);
const set: Path = [...site, "credentials"];

test.each<[path: Path, value: unknown, said: string, at?: Path]>([
  [set, { blue: { dir: "secrets/blue" } }, 'must be a list; write a list, like [{"name":"blue","dir":"secrets/blue"}]'],
  [
    [...set, 0],
    { name: "blue", dir: "a", folder: "secrets/blue" },
    "no key folder here; remove it",
    [...set, 0, "folder"],
  ],
  [[...set, 0], { name: "blue", clientId: "x", secret: {} }, "did you mean clientSecret?", [...set, 0, "secret"]],
  [["admin"], { host: "::1" }, 'no key host here; write bind, like "127.0.0.1:7412"', ["admin", "host"]],
  [["redis"], { port: 6379 }, 'no key port here; write url, like "rediss://cache:6379"', ["redis", "port"]],
  [[...set, 0], { name: "a", clientId: "x", password: {} }, "write clientSecret, like", [...set, 0, "password"]],
  [sites, "sites.d", 'or {"folder":"sites.d"}'],
  [sites, { dir: "a" }, 'not allowed here; write folder, like "sites.d"', [...sites, "dir"]],
  [sites, { folders: "a" }, "write folder, like", [...sites, "folders"]],
  [["admin", "bind"], "{{ .Values.bind }}", "a template that was not rendered; render it first"],
  [[...set, 0], { dir: "blue" }, 'name is missing; add a text, like "blue"', [...set, 0, "name"]],
  [["tokens"], { tokens: [{ file: "a" }] }, "no key tokens here; remove it", ["tokens", "tokens"]],
  [[...set, 1, "clientId"], 12345, "read this as a number; write it in quotes, digit by digit"],
  [[...set, 1, "clientSecret"], { file: "a", env: "B" }, "does not go with", [...set, 1, "clientSecret", "env"]],
  [
    [...set, 1, "clientSecret"],
    { fille: "a" },
    "no key fille here; did you mean file?",
    [...set, 1, "clientSecret", "fille"],
  ],
  [[...set, 1, "clientSecret"], { canary: null }, "does not say where the secret is; put it into a file"],
  [["environments", "sandbox", "token", "scope"], ["a"], 'write a text, like "orders.read orders.write"'],
  [["environments", "sandbox", "token", "extra", "tenant"], 987654, 'write it in quotes, like "shop"'],
  [
    ["environments", "sandbox", "sites", "S1", "operations"],
    ["a"],
    "no key operations here; it belongs at environments.sandbox.operations, merged with what is there, or remove it",
  ],
])("%j: %j is told: %s", (path, value, said, at = path) => {
  const problems = problemsOf(changed(whole, path, (holder, key) => holder.set(key, value)));
  expect(JSON.stringify(problems)).not.toMatch(/canary|987654/);
  expect(problems.map(({ path, message, fix }) => `${path}: ${message}; ${fix}`)).toEqual([
    expect.stringMatching(new RegExp(`^${escaped(formatPath(at))}: .*${escaped(said)}`)),
  ]);
});

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function problemsOf(document: object): readonly Problem[] {
  const diagnostics = new Diagnostics(() => ({ line: 1, column: 1, found: undefined }));
  checkForm(document, configSchema, diagnostics);
  return diagnostics.problems;
}

function textsOf(document: object): string[] {
  return problemsOf(document).map(({ path, message }) => `${path}: ${message}`);
}

function* placesIn(value: unknown, at: Path = []): Generator<Path> {
  if (at.length > 0) yield at;
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value))
    yield* placesIn(inner, [...at, Array.isArray(value) ? Number(key) : key]);
}

function isWithin(inner: Path, outer: Path): boolean {
  return outer.every((part, index) => inner[index] === part);
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, part) => (inner as Record<string | number, unknown> | undefined)?.[part], value);
}

function parse(path: string): Path {
  return path
    .split(/[.[\]]+/)
    .filter((part) => part !== "")
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** A copy with the place changed; mappings on the way that are missing are made. */
function changed(
  value: unknown,
  [part, ...rest]: Path,
  change: (holder: Map<string, unknown>, key: string) => void,
): object {
  const entries = new Map(Object.entries((value ?? {}) as object));
  const key = String(part);
  if (rest.length > 0) entries.set(key, changed(entries.get(key), rest, change));
  else change(entries, key);
  return Array.isArray(value) ? [...entries.values()] : Object.fromEntries(entries);
}
