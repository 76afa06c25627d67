import { expect, test } from "vitest";
import { formatPath, type Path, type Problem } from "../../../src/config/diagnostics.ts";
import { configSchema } from "../../../src/config/schema.ts";
import { ConfigFolder } from "../../../testkit/config-folder.ts";
import { misshapenEverywhere, wrongEverywhere } from "./faulty-configurations.ts";

// All problems of a phase together, and none that merely follows. Each place of a file is spoilt in turn, as a value and
// as a key: only that is reported, for faults of form come before all of meaning. Where other faults of form are in the
// file, they are still reported. In a well-formed file each key is left out in turn, and what is wrong elsewhere stays.

/** Problems of several places: where the problem is reported, and what it was concluded from. */
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

const problemsOf = (document: object) => new ConfigFolder().problemsOf(JSON.stringify(document));

/** What is reported elsewhere than at these places. */
const elsewhere = (problems: readonly Problem[], places: readonly string[]) =>
  problems.filter((problem) => !isAbout(problem, places)).map(textOf);

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
      "listeners[1].bind: every client that reaches this listener can spend money: it is not on loopback or a Unix socket and has no callers",
      "listeners[2].bind: listeners[0].bind listens there already: 127.0.0.1:7411",
      "redis.encryptionKeys[0]: the key is not 64 hex digits",
      "redis.encryptionKeys[1]: the file cannot be read (ENOENT)",
      "redis.lockNodes: the lock needs an odd number of independent masters",
      "redis.lockNodes[1]: one server twice is not independent: where it is lost, both are",
      "redis.tls.certFile: the file cannot be read (ENOENT)",
      "redis.tls.keyFile: the certificate has no key",
      "redis.url: redis:// does not speak TLS, and tls is configured",
      "redis.username: a username alone cannot log in",
      "status.bind: the status port is for loopback only",
    ]
  `);
});

test("whatever value is of the wrong kind: only that is reported", async () => {
  for (const place of all) {
    const spoilt = changed(wrongEverywhere, place, (holder, key) => holder.set(key, true));
    const problems = await problemsOf(spoilt);
    expect.soft(problems, formatPath(place)).not.toEqual([]);
    expect.soft(elsewhere(problems, [formatPath(place)]), formatPath(place)).toEqual([]);
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
    const isInSecret = /^(file|env)$/.test(key);
    const problems = await problemsOf(misspelt);
    expect.soft(problems.map(({ path }) => path)).toEqual([isInSecret ? formatPath(place.slice(0, -1)) : written]);
  }
});

test("whatever is left out of a well-formed file: what is wrong elsewhere is still reported", async () => {
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

test("every fault of form is reported, and none of meaning", async () => {
  const problems = await problemsOf(misshapenEverywhere);
  expect(JSON.stringify(problems)).not.toContain("canary");
  expect(problems.map(textOf)).toMatchInlineSnapshot(`
    [
      "listeners[0].bind: this cannot be read",
      "listeners[1].environment: this must be a text",
      "listeners[1].hosts[0]: this has not the right form",
      "listeners[2].callers.tokens: this is empty",
      "admin.bind: 99999 is more than 65535, the highest port",
      "admin.host: there is no key host here",
      "status.hosts: there is no key hosts here",
      "environments.sandbox.baseUrl: this cannot be read",
      "environments.sandbox.authUrl: this cannot be read",
      "environments.sandbox.operations[0]: this has not the right form",
      "environments.sandbox.defaultSite: this has not the right form",
      "environments.sandbox.allowPlaintext: this must be true or false",
      "environments.sandbox.forwardHeaders[0]: this has not the right form",
      "environments.sandbox.undecided[0]: 404 is less than 500, the least that is allowed",
      "environments.sandbox.via: this must be true or false",
      "environments.sandbox.tls.cert: there is no key cert here",
      "environments.sandbox.sites.S1.credentials[0].name: this has not the right form",
      "environments.sandbox.sites.S1.credentials[1].clientSecret: a secret is never written into the configuration",
      "environments.sandbox.sites.S1.children.S2.exempt[0]: this has not the right form",
      "environments.sandbox.sites.S1.children.S2.keys[0].identifier: this has not the right form",
      "environments.sandbox.sites.S1.children.S5: this must be a mapping",
      "environments.sandbox.sites.S3.version: YAML read this version as a number",
      "environments.sandbox.sites.S3.auth[0]: this value is not known",
      "environments.sandbox.sites.S3.identifyBy: this value is not known",
      "environments.sandbox.sites.S3.characters: this value is not known",
      "environments.sandbox.sites.S3.keys[0].version: this has not the right form",
      "environments.sandbox.sites.S3.keys[0].default: this must be true or false",
      "environments.sandbox.sites.S3.keys[0].secret.env: this is empty",
      "environments.production.operations: this is empty",
      "environments.production.sites: this must be a mapping",
      "tokens.cache: this value is not known",
      "redis.url: this cannot be read",
      "redis.sentinel.name: name is missing",
      "redis.sentinel.nodes[0]: this cannot be read",
      "redis.cluster.nodes: nodes is missing",
      "redis.username: this is empty",
      "redis.password: a secret is never written into the configuration",
      "redis.lockNodes[0]: this cannot be read",
      "redis.encryptionKeys[0]: a secret is never written into the configuration",
      "timeouts.request: 20 has no unit",
      "timeouts.connect: 1ms is less than 10ms, the least that is allowed",
      "timeouts.token: this cannot be read",
      "limits.connections: 0 is less than 1, the least that is allowed",
      "limits.bodyBytes: this must be a number, without quotes or unit",
      "log.level: this value is not known",
      "log.upstreamHeaders: this must be a list",
      "readiness: this value is not known",
      "reload.unreadyAfterRefusal: 1ms is less than 1000ms, the least that is allowed",
      "drain.minSeconds: -1 is less than 0, the least that is allowed",
      "acknowledge[0]: this value is not known",
    ]
  `);
});

test("whatever else is of the wrong kind: every other fault of form is still reported", async () => {
  const before = await problemsOf(misshapenEverywhere);
  for (const place of placesIn(misshapenEverywhere)) {
    const path = formatPath(place);
    const spoilt = changed(misshapenEverywhere, place, (holder, key) => holder.set(key, true));
    const after = await problemsOf(spoilt);
    expect.soft(elsewhere(after, [path]), path).toEqual(elsewhere(before, [path]));
  }
});
