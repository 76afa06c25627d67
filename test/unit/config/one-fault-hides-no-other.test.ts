import { expect, test } from "vitest";
import { formatPath, type Path, type Problem } from "../../../src/config/diagnostics.ts";
import { configSchema } from "../../../src/config/form/schema.ts";
import { ConfigFolder, sound } from "../../../testkit/config-folder.ts";
import { atTheEnd, inSite1, redisWith } from "./refusal.ts";

// All problems of a phase are reported together, without mere consequences. Each place of a file is spoilt in turn, as a value and
// as a key: only that is reported, since faults of form come before all faults of meaning. If the file has other faults of form,
// these are still reported. In a well-formed file each key is left out in turn, and faults elsewhere must still be reported.

/** Well formed, with a fault of meaning in every part. */
const wrongEverywhere = {
  listeners: [
    { bind: "127.0.0.1:7411", environment: "sandbox" },
    { bind: ":7414", environment: "production" },
    { bind: "localhost:7411", environment: "sandbox", hosts: ["app"] },
  ],
  admin: { bind: ":7412" },
  status: { bind: ":7413" },
  environments: {
    sandbox: {
      baseUrl: "https://api.sandbox.example/json-api",
      authUrl: "https://api.sandbox.example",
      operations: ["create_order", "*"],
      defaultSite: "S4",
      forwardHeaders: ["x-tenant", "cookie"],
      tls: { caFile: "nothing", certFile: "nothing" },
      sites: {
        S1: {
          credentials: [
            { name: "a", dir: "nothing" },
            { name: "a", clientId: "id", clientSecret: { file: "nothing" }, audience: "x" },
          ],
          children: {
            S2: { exempt: ["timestamp"], keys: [{ identifier: "K1", secret: { file: "nothing" } }] },
            S5: {},
          },
        },
        S3: {
          version: "2.0",
          auth: ["hmac", "oauth"],
          keys: [
            { identifier: "K2", version: "3.0", secret: { file: "nothing" } },
            { identifier: "K3", secret: { env: "NOTHING" } },
          ],
        },
      },
    },
    production: {
      baseUrl: "http://api.example",
      authUrl: "https://api.sandbox.example",
      operations: ["create_order"],
      sites: { S8: { keys: [{ identifier: "K1", secret: { file: "k2" } }] }, S9: { decimals: ["fee"] } },
    },
  },
  redis: {
    url: "redis://a",
    username: "u",
    tls: { certFile: "nothing" },
    lockNodes: ["rediss://b", "rediss://a", "rediss://c"],
    encryptionKeys: [{ file: "k1" }, { file: "nothing" }],
  },
  timeouts: { request: "20s" },
  log: { upstreamHeaders: ["x-request-id"] },
};

/** A fault of form in every part, in addition to some of meaning. */
const misshapenEverywhere = {
  listeners: [
    { bind: "nowhere", environment: "sandbox" },
    { bind: ":7414", environment: 5, hosts: ["a:1"] },
    { bind: ":7411", environment: "sandbox", callers: { shop: { token: [] } } },
  ],
  admin: { bind: ":99999", host: [] },
  status: { bind: ":7413", hosts: ["app"] },
  environments: {
    sandbox: {
      baseUrl: "api.sandbox.example",
      authUrl: "https://api.sandbox.example?a=b",
      operations: ["../create_order", "*"],
      defaultSite: "4",
      allowPlaintext: "sure",
      forwardHeaders: ["x tenant", "cookie"],
      undecided: [404],
      via: "no",
      tls: { caFile: "nothing", cert: "nothing" },
      sites: {
        S1: {
          credentials: [
            { name: "a b", dir: "nothing" },
            { name: "b", clientId: "id", clientSecret: "canary", audience: "x" },
          ],
          children: { S2: { exempt: ["time stamp"], keys: [{ identifier: "1", secret: { file: "nothing" } }] }, S5: 5 },
        },
        S3: {
          version: 2.0,
          auth: ["hmca"],
          identifyBy: "sites",
          characters: "no",
          keys: [{ identifier: "K2", version: "3", default: "true", secret: { env: "" } }],
        },
      },
    },
    production: { baseUrl: "http://api.example", operations: [], sites: [] },
  },
  tokens: { cache: "disk" },
  redis: {
    url: "cache",
    sentinel: { nodes: ["a"] },
    cluster: {},
    username: "",
    password: "canary",
    lockNodes: ["b"],
    encryptionKeys: ["canary"],
  },
  timeouts: { request: 20, connect: "1ms", token: "soon" },
  limits: { connections: 0, bodyBytes: "1" },
  log: { level: "verbose", upstreamHeaders: "x-request-id" },
  readiness: "maybe",
  reload: { unreadyAfterRefusal: "1ms" },
  drain: { min: "61m" },
  acknowledge: ["nothing"],
};

/** Problems that follow from several places: the place of the problem, and the places from which it was concluded. */
const conclusions: readonly (readonly [problem: string, ...from: string[]])[] = [
  ["listeners[2].bind", "listeners[0]"],
  ["listeners[2].bind", "listeners[2].environment"],
  ["environments.sandbox.authUrl", "environments.sandbox.baseUrl"],
  ["environments.sandbox.operations[1]", "environments.sandbox.operations[0]"],
  ["environments.sandbox.defaultSite", "environments.sandbox.sites", "environments.sandbox.sites.S1.children"],
  ["environments.sandbox.sites.S1.credentials[1].name", "environments.sandbox.sites.S1.credentials[0]"],
  ["environments.sandbox.sites.S3.auth[1]", "environments.sandbox.sites.S3.credentials"],
  ["environments.sandbox.sites.S3.keys[0].version", "environments.sandbox.sites.S3.version"],
  ["environments.sandbox.sites.S3.version", "environments.sandbox.sites.S3.auth"],
  ["environments.production.authUrl", "environments.sandbox"],
  ["environments.production.sites.S8.keys[0].identifier", "environments.sandbox"],
  ["environments.sandbox.tls.keyFile", "environments.sandbox.tls.certFile"],
  ["redis.url", "redis.tls"],
  ["redis.tls.keyFile", "redis.tls.certFile"],
  ["redis.lockNodes", "redis.url"],
  ["redis.lockNodes[1]", "redis.url"],
];

const wholeFile: Path = [];

const textOf = ({ path, message }: Problem) => `${path}: ${message}`;

const problemsOf = (document: object) => new ConfigFolder().problemsOf(JSON.stringify(document));

/** The problems at all other places. */
const elsewhere = (problems: readonly Problem[], places: readonly string[]) =>
  problems.filter((problem) => !isAbout(problem, places)).map(textOf);

const all = [...placesIn(wrongEverywhere)];

/** The places of the problems, in the order of the file; without the first word `environments`. */
const placesOf = (problems: readonly Problem[]) => problems.map(({ path }) => path.replace(/^environments\./, ""));
const words = (text: string) => text.trim().split(/\s+/);

test("every fault of meaning is reported, in the file's order", async () => {
  expect(placesOf(await problemsOf(wrongEverywhere))).toEqual(
    words(`
      listeners[1].bind listeners[2].bind status.bind
      sandbox.authUrl sandbox.operations[1] sandbox.defaultSite sandbox.forwardHeaders[1]
      sandbox.tls.keyFile sandbox.tls.caFile sandbox.tls.certFile
      sandbox.sites.S1.credentials[0].dir
      sandbox.sites.S1.credentials[1].name sandbox.sites.S1.credentials[1].clientSecret
      sandbox.sites.S1.children.S2.exempt[0] sandbox.sites.S1.children.S2.keys[0].secret
      sandbox.sites.S3.version sandbox.sites.S3.auth[1] sandbox.sites.S3.keys
      sandbox.sites.S3.keys[0].version sandbox.sites.S3.keys[0].secret sandbox.sites.S3.keys[1].secret
      production.baseUrl production.authUrl production.sites.S8.keys[0].identifier production.sites.S9
      redis redis.url redis.username redis.tls.keyFile redis.tls.certFile
      redis.lockNodes redis.lockNodes[1] redis.encryptionKeys[0] redis.encryptionKeys[1]
    `),
  );
});

test("a value of the wrong kind at any place: only this fault is reported", async () => {
  for (const place of all) {
    const spoilt = changed(wrongEverywhere, place, (holder, key) => holder.set(key, true));
    const problems = await problemsOf(spoilt);
    expect.soft(problems, formatPath(place)).not.toEqual([]);
    expect.soft(elsewhere(problems, [formatPath(place)]), formatPath(place)).toEqual([]);
  }
});

test("any misspelt key: one problem, at that key", async () => {
  const named = all.filter(
    (place) => typeof place.at(-1) === "string" && !/^(S\d|sandbox|production)$/.test(`${place.at(-1)}`),
  );
  for (const place of named) {
    const key = String(place.at(-1));
    const misspelt = changed(wrongEverywhere, place, (holder) => {
      const entries = [...holder].map(([name, value]) => [name === key ? `${key}x` : name, value] as const);
      holder.clear();
      for (const [name, value] of entries) holder.set(name, value);
    });
    const written = formatPath([...place.slice(0, -1), `${key}x`]);
    const problems = await problemsOf(misspelt);
    expect.soft(problems.map(({ path }) => path)).toEqual([written]);
  }
});

test("a key left out of a well-formed file hides no fault elsewhere", async () => {
  const before = await problemsOf(wrongEverywhere);
  let count = 0;
  for (const place of all.filter((each) => typeof each.at(-1) === "string")) {
    const without = changed(wrongEverywhere, place, (holder, key) => holder.delete(key));
    if (!configSchema.safeParse(without).success) continue;
    count += 1;
    const places = [formatPath(place)];
    const concluded = conclusions
      .filter(([, ...from]) => from.some((each) => isAbout({ path: each } as Problem, places)))
      .map(([problem]) => problem);
    const after = (await problemsOf(without)).map(textOf);
    const hidden = elsewhere(before, [...places, ...concluded]).filter((text) => !after.includes(text));
    expect.soft(hidden, `left out: ${places}`).toEqual([]);
  }
  expect(count).toBeGreaterThan(30);
});

test("every fault of form is reported, in the file's order, and none of meaning", async () => {
  const problems = await problemsOf(misshapenEverywhere);
  expect(JSON.stringify(problems)).not.toContain("canary");
  expect(placesOf(problems)).toEqual(
    words(`
      listeners[0].bind listeners[1].environment listeners[1].hosts[0] listeners[2].callers.shop.token
      admin.bind admin.host status.hosts
      sandbox.baseUrl sandbox.authUrl sandbox.operations[0] sandbox.defaultSite sandbox.allowPlaintext
      sandbox.forwardHeaders[0] sandbox.undecided[0] sandbox.via sandbox.tls.cert
      sandbox.sites.S1.credentials[0].name sandbox.sites.S1.credentials[1].clientSecret
      sandbox.sites.S1.children.S2.exempt[0] sandbox.sites.S1.children.S2.keys[0].identifier
      sandbox.sites.S1.children.S5 sandbox.sites.S3.version sandbox.sites.S3.auth[0]
      sandbox.sites.S3.identifyBy sandbox.sites.S3.characters sandbox.sites.S3.keys[0].version
      sandbox.sites.S3.keys[0].default sandbox.sites.S3.keys[0].secret.env
      production.operations production.sites tokens.cache
      redis.url redis.sentinel.name redis.sentinel.nodes[0] redis.cluster.nodes redis.username redis.password
      redis.lockNodes[0] redis.encryptionKeys[0]
      timeouts.request timeouts.connect timeouts.token limits.connections limits.bodyBytes
      log.level log.upstreamHeaders readiness reload.unreadyAfterRefusal drain.min acknowledge[0]
    `),
  );
});

test("one more value of the wrong kind, at any place: every other fault of form is still reported", async () => {
  const before = await problemsOf(misshapenEverywhere);
  for (const place of placesIn(misshapenEverywhere)) {
    const path = formatPath(place);
    const spoilt = changed(misshapenEverywhere, place, (holder, key) => holder.set(key, true));
    const after = await problemsOf(spoilt);
    expect.soft(elsewhere(after, [path]), path).toEqual(elsewhere(before, [path]));
  }
});

const [site1, site3] = ["sandbox.sites.S1000000001", "sandbox.sites.S1000000003"];
const listening = 'bind: "127.0.0.1:7414", environment: sandbox';

// A conclusion from a place whose meaning is itself faulty is not reported with that fault. The tests above visit every place of
// one file; these are the cases that they cannot reach.
test.each<[what: string, yaml: string, paths: string[]]>([
  [
    "callbacks, if the only key is in a file that cannot be read",
    atTheEnd(`callbacks: [ { ${listening}, application: { url: "http://127.0.0.1:8080/callbacks" } } ]`).replace(
      "DIR/k1",
      "none",
    ),
    [`${site3}.keys[0].secret`],
  ],
  [
    "a repeated encryption key, if it is not a key at all",
    redisWith("url: rediss://a, encryptionKeys: [ { file: k2 }, { file: k2 } ]"),
    ["redis.encryptionKeys[0]", "redis.encryptionKeys[1]"],
  ],
  [
    "a listener's environment, if no environment is configured",
    sound.replace(/environments:[\s\S]*/, "environments: {}\n"),
    ["environments"],
  ],
  [
    "a default site, if no site is configured",
    sound.replace(/ {4}sites:[\s\S]*/, "    sites: {}\n"),
    ["sandbox.sites"],
  ],
  [
    "the number of lock nodes of a Redis without an address, though one is named twice",
    redisWith("lockNodes: [redis://b, redis://b], encryptionKeys: [ { file: k2 } ]"),
    ["redis", "redis.lockNodes[1]", "redis.encryptionKeys[0]"],
  ],
  [
    "a child of a parent whose secrets cannot be read",
    inSite1("children: { S1000000002: { auth: [oauth] } }").replace("DIR/blue", "DIR/nowhere"),
    [`${site1}.credentials[0].dir`],
  ],
  [
    "two addresses of Redis, if both are complete",
    redisWith('cluster: { nodes: ["a:1"] }, sentinel: { name: m, nodes: ["a:1"] }').replace("DIR/k1", "DIR/nothing"),
    [`${site3}.keys[0].secret`, "redis", "redis.encryptionKeys"],
  ],
])("%s", async (_, yaml, paths) => {
  expect(placesOf(await new ConfigFolder().problemsOf(yaml))).toEqual(paths);
});

function* placesIn(value: unknown, at: Path = wholeFile): Generator<Path> {
  if (at.length > 0) yield at;
  if (typeof value !== "object" || value === null) return;
  const isList = Array.isArray(value);
  for (const [key, inner] of Object.entries(value)) yield* placesIn(inner, [...at, isList ? Number(key) : key]);
}

/** A copy with the place changed; keys stay in their order. */
function changed(value: unknown, [part, ...rest]: Path, change: (holder: Map<string, unknown>, key: string) => void) {
  const entries = new Map(Object.entries(value as object));
  const key = String(part);
  if (rest.length > 0) entries.set(key, changed(entries.get(key), rest, change));
  else change(entries, key);
  return Array.isArray(value) ? [...entries.values()] : Object.fromEntries(entries);
}

/** Whether a problem is at one of these places, or inside or around one. */
function isAbout(problem: Problem, places: readonly string[]): boolean {
  const isInside = (inner: string, outer: string) => inner === outer || /^[.[]/.test(inner.replace(outer, ""));
  return places.some((place) => isInside(problem.path, place) || isInside(place, problem.path));
}
