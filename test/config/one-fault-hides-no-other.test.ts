import { expect, test } from "vitest";
import { formatPath, type Path, type Problem } from "../../src/config/problem.ts";
import { ConfigFolder } from "./config-folder.ts";

// Every problem at once, and none that merely follows: each place of a file is spoilt in turn, as a value and as a key.
// What was wrong elsewhere must still be reported, and nothing may be wrong elsewhere that was not before.

/** Sound for the schema, with a problem of its own in every part that is checked later. */
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

/** What cannot be told once one of these places is spoilt: the problem's place, and what it was concluded from. */
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

function* placesIn(value: unknown, at: Path = wholeFile): Generator<Path> {
  if (at.length > 0) yield at;
  if (typeof value !== "object" || value === null) return;
  const isList = Array.isArray(value);
  for (const [key, inner] of Object.entries(value)) yield* placesIn(inner, [...at, isList ? Number(key) : key]);
}

/** A copy in which something else stands at the place; keys stay in their order. */
function changed(value: unknown, [part, ...rest]: Path, change: (holder: Map<string, unknown>, key: string) => void) {
  const entries = new Map(Object.entries(value as object));
  const key = String(part);
  if (rest.length > 0) entries.set(key, changed(entries.get(key), rest, change));
  else change(entries, key);
  return Array.isArray(value) ? [...entries.values()] : Object.fromEntries(entries);
}

const textOf = ({ path, message }: Problem) => `${path}: ${message}`;

/** Whether a problem at one place is, by its place, about another. */
function isAbout(problem: Problem, places: readonly string[]): boolean {
  const isInside = (inner: string, outer: string) => inner === outer || /^[.[]/.test(inner.replace(outer, ""));
  return places.some((place) => isInside(problem.path, place) || isInside(place, problem.path));
}

/** Compares with what was reported before; returns what is reported about the places themselves, and was not. */
async function expectOthersUnchanged(spoilt: object, place: Path, also: readonly string[] = []): Promise<Problem[]> {
  const folder = new ConfigFolder();
  const before = await folder.problemsOf(JSON.stringify(wrongEverywhere));
  const after = await folder.problemsOf(JSON.stringify(spoilt));
  const places = [formatPath(place), ...also];
  const concluded = conclusions
    .filter(([, ...from]) => from.some((each) => isAbout({ path: each } as Problem, places)))
    .map(([problem]) => problem);
  const others = (problems: readonly Problem[]) =>
    problems.filter((problem) => !isAbout(problem, places) && !concluded.includes(problem.path)).map(textOf);
  expect.soft(others(after), `spoilt: ${places}`).toEqual(others(before));
  const known = before.map(textOf);
  return after.filter((problem) => isAbout(problem, places) && !known.includes(textOf(problem)));
}

const all = [...placesIn(wrongEverywhere)];

test("everything that is wrong here is reported", async () => {
  const problems = await new ConfigFolder().problemsOf(JSON.stringify(wrongEverywhere));
  expect(problems.map(textOf).sort()).toMatchInlineSnapshot(`
    [
      "environments.production.authUrl: the origin is also environment sandbox's",
      "environments.production.baseUrl: http:// would send credentials in plain text",
      "environments.production.sites.S8.keys[0].identifier: the key identifier is also environment sandbox's",
      "environments.production.sites.S9: the site has neither credentials nor keys",
      "environments.sandbox.authUrl: baseUrl and authUrl have the same origin",
      "environments.sandbox.defaultSite: there is no such site",
      "environments.sandbox.forwardHeaders[1]: this header is never let through",
      "environments.sandbox.operations[1]: * stands among other operations",
      "environments.sandbox.sites.S1.children.S2.exempt[0]: timestamp must be signed",
      "environments.sandbox.sites.S1.children.S2.keys[0].secret: the file cannot be read (ENOENT)",
      "environments.sandbox.sites.S1.credentials[0].dir: the file cannot be read (ENOENT)",
      "environments.sandbox.sites.S1.credentials[0].dir: the file cannot be read (ENOENT)",
      "environments.sandbox.sites.S1.credentials[0].dir: the file cannot be read (ENOENT)",
      "environments.sandbox.sites.S1.credentials[1].clientSecret: the file cannot be read (ENOENT)",
      "environments.sandbox.sites.S1.credentials[1].name: another set of the site has this name",
      "environments.sandbox.sites.S3.auth[1]: the site has no credentials for oauth",
      "environments.sandbox.sites.S3.keys: several keys need exactly one default",
      "environments.sandbox.sites.S3.keys[0].secret: the file cannot be read (ENOENT)",
      "environments.sandbox.sites.S3.keys[0].version: a key of version 3.0 cannot sign calls of version 2.0",
      "environments.sandbox.sites.S3.keys[1].secret: the environment variable is not set",
      "environments.sandbox.sites.S3.version: OAuth is not available for version 2.0",
      "environments.sandbox.tls.caFile: the file cannot be read (ENOENT)",
      "environments.sandbox.tls.certFile: the file cannot be read (ENOENT)",
      "environments.sandbox.tls.keyFile: the certificate has no key",
      "listeners[1].bind: whoever reaches this listener can spend money: it is not on loopback or a Unix socket and has no callers",
      "listeners[2].bind: listeners[0].bind listens there already: 127.0.0.1:7411",
      "redis.encryptionKeys[0]: the key is not 64 hex digits",
      "redis.encryptionKeys[1]: the file cannot be read (ENOENT)",
      "redis.lockNodes: the lock needs an odd number of independent masters",
      "redis.lockNodes[1]: one server twice is not independent: where it is lost, both are",
      "redis.tls.certFile: the file cannot be read (ENOENT)",
      "redis.tls.keyFile: the certificate has no key",
      "redis.url: redis:// does not speak TLS, and tls is configured",
      "redis.username: nobody can log in with a username alone",
      "status.bind: the status port is for loopback only",
    ]
  `);
});

test("whatever value is of the wrong kind", async () => {
  for (const place of all) {
    const spoilt = changed(wrongEverywhere, place, (holder, key) => holder.set(key, true));
    const about = await expectOthersUnchanged(spoilt, place);
    expect.soft(about, formatPath(place)).not.toEqual([]);
  }
});

test("whichever key is misspelt: one problem, which says what was meant", async () => {
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
    const about = await expectOthersUnchanged(misspelt, place, [written]);
    const isInSecret = /^(file|env)$/.test(key);
    expect.soft(about.map(({ path }) => path)).toEqual([isInSecret ? formatPath(place.slice(0, -1)) : written]);
  }
});
