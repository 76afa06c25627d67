import { expect, it } from "vitest";
import { aclRules, aclUser } from "../../../testkit/acl.ts";
import { type RealRedis, startRedis } from "../../../testkit/redis.ts";
import { startCluster, startMasters, startReplicated } from "../../../testkit/redis-fleet.ts";
import { configureDoctor, diagnose, keyedSite, sitesWith } from "./doctor-runs.ts";

// What the doctor reports about real Redis servers with faults, as the user with the fewest privileges. Tokens are issued without
// such a server too: the check of the token stays ok.

const urlOf = ({ port }: RealRedis) => `url: "redis://127.0.0.1:${port}"`;
const acl = (redis: RealRedis, ...rules: readonly string[]) =>
  redis.command("ACL", "SETUSER", aclUser.username, ...rules);

it("names the permissions that the user lacks, with the command that adds them", async () => {
  const redis = await startRedis();
  await acl(redis, "-pttl", "-set");
  const { hasFailed, about, token } = await check(urlOf(redis));
  expect(hasFailed).toBe(true);
  expect(about("cache")).toContainEqual(
    expect.stringMatching(/^fail: the user countersign may not SET, PTTL \| ACL SETUSER countersign \+set \+pttl/),
  );
  expect(token).toBe("ok S1/blue: issued, valid for 24 h, but Redis did not take it");

  await acl(redis, "+pttl", "+set", "-ping");
  const people = await check(urlOf(redis));
  expect(people.hasFailed).toBe(false);
  expect(people.about("cache")).toContainEqual(
    expect.stringMatching(/^warn: the user countersign may not PING \| ACL/),
  );

  await acl(redis, "+ping", "resetkeys", "~other:*");
  const keys = await check(urlOf(redis));
  expect(keys.about("cache")).toContainEqual(
    expect.stringMatching(/^fail: .* may not use keys under countersign: \| ACL SETUSER countersign ~countersign:\*/),
  );

  await acl(redis, "resetkeys", "~countersign:*");
  const database = await check(`url: "redis://127.0.0.1:${redis.port}/3"`);
  expect(database.about("cache")[0]).toMatch(/^fail: the user countersign may not choose the database, so database 0/);
});

it("tries exactly the commands that docs/redis.md grants", async () => {
  const redis = await startRedis();
  const { about } = await check(urlOf(redis));
  const tried =
    about("cache")
      .find((line) => line.startsWith("ok: every command"))
      ?.split(": ")
      .at(-1)
      ?.split(", ") ?? [];
  const granted = aclRules.filter((rule) => rule.startsWith("+")).map((rule) => rule.slice(1));
  // The login has already used `hello`.
  expect([...tried, "hello"].sort()).toEqual(granted.sort());
});

it.each([
  {
    what: "with another password",
    begin: (redis: RealRedis) => acl(redis, "resetpass", ">canary-other-password"),
    says: /^fail: the login as countersign is refused \(WRONGPASS\) \| correct redis\.username and redis\.password/,
  },
  {
    what: "that is stopped",
    begin: async (redis: RealRedis) => redis.stop(),
    says: /^fail: connected, but it does not answer \| see what keeps it busy/,
  },
  {
    what: "that is gone",
    begin: (redis: RealRedis) => redis.kill(),
    says: /^fail: connections are refused \(ECONNREFUSED\) \| see that it is up, and that host and port in redis\.url/,
  },
])("reports what is wrong with a server $what, once", async ({ begin, says }) => {
  const redis = await startRedis();
  await begin(redis);
  const { hasFailed, about, token } = await check(urlOf(redis));
  redis.cont();
  expect(hasFailed).toBe(true);
  expect(about("cache")).toEqual([expect.stringMatching(says)]);
  expect(about("encryptionKeys")).toEqual(["skipped: the cache could not be read"]);
  expect(token).toBe("ok S1/blue: issued, valid for 24 h, but Redis did not take it");
});

it("recognises a replica, and a full memory", async () => {
  const { replica, master } = await startReplicated(startRedis);
  const onReplica = await check(urlOf(replica));
  expect(onReplica.hasFailed).toBe(true);
  expect(onReplica.about("cache")).toContainEqual(
    expect.stringMatching(/^fail: it is a replica and takes no writes \(SET: READONLY\) \| name the master/),
  );
  await master.config("maxmemory", 1);
  const onFull = await check(urlOf(master));
  expect(onFull.about("cache")).toContainEqual(
    expect.stringMatching(
      /^fail: its memory is full \(SET: OOM\) \| raise maxmemory, or give Countersign a Redis of its own$/,
    ),
  );
});

it("asks for a replica's confirmation if keys need it, and says what is missing", async () => {
  const { replica, master } = await startReplicated(startRedis);
  const confirmed = async () => (await check(urlOf(master), "once: { durability: replica }")).about("cache");
  expect(await confirmed()).toContainEqual(expect.stringMatching(/^fail: .* may not WAIT \| .* \+wait/));
  await acl(master, "+wait");
  await expect
    .poll(confirmed, { timeout: 20_000 })
    .toContainEqual(expect.stringMatching(/^ok: every command .* wait$/));
  replica.stop();
  expect(await confirmed()).toContainEqual(
    expect.stringMatching(/^fail: no replica confirms what is written \(WAIT: NOREPLICAS\) \| see their state/),
  );
});

it("checks each master of the lock, and finds two names of one server", async () => {
  const [first, second, third] = await startMasters(startRedis);
  const places = (...nodes: readonly string[]) =>
    `${urlOf(first)}, lockNodes: [ ${nodes.map((url) => `"${url}"`).join(", ")} ]`;
  const healthy = await check(places(second.url, third.url));
  expect(healthy.hasFailed).toBe(false);
  expect(healthy.about("lock")).toHaveLength(7);
  expect(healthy.about("lock").at(-1)).toBe("ok: 3 of 3 independent masters answer; 2 of them lock");

  // Another address of the second master.
  const twice = await check(places(second.url, `redis://[::ffff:127.0.0.1]:${second.port}`));
  expect(twice.hasFailed).toBe(true);
  expect(twice.about("lock").at(-1)).toMatch(/^fail: lock-2 and lock-3 are one server \| name independent masters/);

  await third.kill();
  await second.kill();
  const without = await check(places(second.url, third.url));
  expect(without.about("lock-3")).toEqual([
    expect.stringMatching(/^fail: connections are refused .* redis\.lockNodes\[1\]/),
  ]);
  expect(without.about("lock").at(-1)).toMatch(/^fail: 1 of 3 independent masters answer; 2 of them lock \| bring/);
});

it("checks every master of a Cluster", async () => {
  const nodes = await startCluster(startRedis);
  const [first] = nodes;
  const at = `cluster: { nodes: [ "127.0.0.1:${first?.port}" ] }`;
  const healthy = await check(at);
  expect(healthy.hasFailed).toBe(false);
  expect(healthy.about("cache")).toContainEqual(
    expect.stringMatching(/^ok: every command that is needed works: cluster slots, cluster info, asking, set, get/),
  );
  const last = nodes.at(-1);
  if (last !== undefined) await acl(last, "-asking");
  const lacking = await check(at);
  expect(lacking.about("cache")).toContainEqual(
    expect.stringMatching(/^fail: the user countersign may not ASKING \| ACL SETUSER countersign \+asking/),
  );
});

const application = 'application: { url: "http://127.0.0.1:9/callbacks" }';
it.each([
  ["once", "once: { ttl: 1h }"],
  ["callbacks", `callbacks: [ { bind: "127.0.0.1:0", environment: sandbox, ${application} } ]`],
])("warns of a Redis that may lose the keys of %s", async (what, promise) => {
  const redis = await startRedis({ args: ["--maxmemory-policy", "volatile-lru"] });
  expect((await check(urlOf(redis))).about(what)).toEqual([]);
  const remembered = async () => (await check(urlOf(redis), promise)).about(what);
  expect(await remembered()).toEqual([expect.stringMatching(/^warn: maxmemory-policy volatile-lru: .* noeviction/)]);
  await redis.config("maxmemory-policy", "noeviction");
  expect(await remembered()).toEqual([expect.stringMatching(/^warn: appendonly no: .* set appendonly yes/)]);
  await redis.config("appendonly", "yes");
  expect(await remembered()).toEqual(["ok: Redis drops no key before its time, and keeps them on disk"]);
});

async function check(redis: string, more = "") {
  const { file } = await configureDoctor({ redis, more, sites: sitesWith(keyedSite) });
  const { hasFailed, of } = await diagnose(file);
  const lines = of("redis").map(
    (line) => /^(?<verdict>\w+) (?<what>\S+)(?: \S+| Cluster \S+)?: (?<rest>.*)$/.exec(line)?.groups,
  );
  return {
    hasFailed,
    token: of("token")[0],
    /** The report's lines about the cache, a lock node, …. */
    about: (what: string) =>
      lines.filter((line) => line?.["what"]?.startsWith(what)).map((line) => `${line?.["verdict"]}: ${line?.["rest"]}`),
  };
}
