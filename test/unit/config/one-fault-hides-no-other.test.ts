import { expect, test } from "vitest";
import { formatPath, type Path, type Problem } from "../../../src/config/diagnostics.ts";
import { configSchema } from "../../../src/config/form/schema.ts";
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

/** The places of what is wrong, in the order in which the file has them; those of environments without their first word. */
const placesOf = (problems: readonly Problem[]) => problems.map(({ path }) => path.replace(/^environments\./, ""));
const words = (text: string) => text.trim().split(/\s+/);

test("everything that is wrong here is reported, in the file's order", async () => {
  expect(placesOf(await problemsOf(wrongEverywhere))).toEqual(
    words(`
      listeners[1].bind listeners[2].bind status.bind
      sandbox.authUrl sandbox.operations[1] sandbox.defaultSite sandbox.forwardHeaders[1]
      sandbox.tls.keyFile sandbox.tls.caFile sandbox.tls.certFile
      ${"sandbox.sites.S1.credentials[0].dir ".repeat(3)}
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

test("whatever else is of the wrong kind: every other fault of form is still reported", async () => {
  const before = await problemsOf(misshapenEverywhere);
  for (const place of placesIn(misshapenEverywhere)) {
    const path = formatPath(place);
    const spoilt = changed(misshapenEverywhere, place, (holder, key) => holder.set(key, true));
    const after = await problemsOf(spoilt);
    expect.soft(elsewhere(after, [path]), path).toEqual(elsewhere(before, [path]));
  }
});
