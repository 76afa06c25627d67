import { describe, expect, test } from "vitest";
import type { RedisAccess } from "../../../src/model/redis-access.ts";
import { authority, clientCertificate, clientKey } from "../../../testkit/certificates.ts";
import { ConfigFolder, sound, tokenKey } from "../../../testkit/config-folder.ts";
import { atTheEnd, fault, itRefuses, redisWith, withRedis } from "./refusal.ts";

// The Redis settings reach the adapters exactly as written.

const otherKey = tokenKey.replace("0", "F");

const to = (host: string, port: number) => ({ host, port });

test.each([
  [
    "url: rediss://cache:6380/15",
    { kind: "standalone", node: { kind: "tcp", host: "cache", port: 6380, tls: true, db: 15 } },
  ],
  [
    'sentinel: { name: main, nodes: ["a:26379", "[::1]:26380"] }',
    { kind: "sentinel", master: "main", nodes: [to("a", 26_379), to("::1", 26_380)], password: undefined },
  ],
  ['cluster: { nodes: ["a:7000", "B:7001"] }', { kind: "cluster", nodes: [to("a", 7_000), to("b", 7_001)] }],
])("the place of the cache %s", async (settings, place) => {
  const { encryptionKeys, ...access } = await accessOf(settings);
  expect(encryptionKeys.map(({ key }) => key.export().toString("hex"))).toEqual([tokenKey]);
  const absent = { username: undefined, password: undefined, tls: undefined };
  expect(access).toStrictEqual({ place, lockNodes: [], confirmsOnce: false, ...absent });
});

test("the user and both passwords", async () => {
  const settings = 'sentinel: { name: m, nodes: ["a:1"], password: { file: green } }, username: u';
  const { place, username, password } = await accessOf(`${settings}, password: { file: main }`);
  expect(username).toBe("u");
  expect(password?.reveal()).toBe("canary-client-secret-main");
  expect(place.kind === "sentinel" && place.password?.reveal()).toBe("canary-client-secret-green");
});

test("the user and the password of one file", async () => {
  const { username, password } = await accessOf("url: redis://a, username: { file: login }, password: { file: login }");
  expect(username).toBe("user-of-the-hour");
  expect(password?.reveal()).toBe("a-token-of-the-platform");
});

test("more masters for the lock, in their order", async () => {
  const { lockNodes } = await accessOf('url: redis://cache, lockNodes: ["rediss://b:1/2", "unix:/run/c.sock"]');
  expect(lockNodes).toStrictEqual([
    { kind: "tcp", host: "b", port: 1, tls: true, db: 2 },
    { kind: "unix", path: "/run/c.sock", db: 0 },
  ]);
});

describe("tls", () => {
  test.each(['cluster: { nodes: ["a:1"] }', 'sentinel: { name: m, nodes: ["a:1"] }', "url: rediss://a"])(
    "{} with %s trusts the public authorities",
    async (place) => {
      const { tls } = await accessOf(`${place}, tls: {}`);
      expect(tls).toStrictEqual({ ca: undefined, cert: undefined, key: undefined });
    },
  );

  test("holds the contents of its files", async () => {
    const { tls } = await accessOf("url: rediss://a, tls: { caFile: ca, certFile: cert, keyFile: key }");
    expect(tls).toMatchObject({ ca: authority, cert: clientCertificate });
    expect(tls?.key?.reveal()).toBe(clientKey);
  });
});

test("encryption keys are the bytes that the digits stand for, in their order", async () => {
  const { encryptionKeys } = await accessOf("url: redis://a", "{ file: other-key }, { file: token-key }");
  const bytes = [Buffer.from(otherKey, "hex"), Buffer.from(tokenKey, "hex")];
  expect(encryptionKeys.map(({ key }) => key.export())).toEqual(bytes);
  expect(encryptionKeys.map(({ length }) => length)).toEqual([32, 32]);
});

/** `said` continues after the section's name. */
const wrong = (settings: string, said: string, files = {}) => fault(withRedis(settings), `redis${said}`, files);
const withLogin = "url: rediss://a, username: { file: DIR/login }, password: { file: DIR/login }";
const loginSaid = ".password: user name and a password … first line … second";
const ofKeys = (keys: string, said: string, files = {}) =>
  fault(redisWith(`url: rediss://a, encryptionKeys: [ ${keys} ]`), `redis.encryptionKeys${said}`, files);
const withKey = (digits: string, said: string) =>
  ofKeys("{ file: DIR/token-key }", `[0]: ${said} … countersign keygen`, { "token-key": digits });

itRefuses("Redis that cannot work", [
  fault(redisWith("url: redis://cache:6379"), "redis.encryptionKeys: encrypt … countersign keygen"),
  fault(atTheEnd("tokens: { cache: redis }"), "tokens.cache: no section redis … add redis"),
  fault(
    atTheEnd("redis: { url: redis://cache, encryptionKeys: [ { file: DIR/token-key } ] }"),
    "redis: not used while tokens.cache is memory … cache: redis",
  ),
  fault(atTheEnd("once: { ttl: 24h }"), "once: needs the Redis that replicas share … tokens: { cache: redis }"),
  fault(
    atTheEnd(
      'tokens: { cache: redis }\nredis: { cluster: { nodes: ["a:7000"] }, encryptionKeys: [ { file: DIR/token-key } ] }\nonce: { durability: replica }',
    ),
    "once.durability: replicas of a Cluster are not asked … use Sentinels",
    { "token-key": tokenKey },
  ),
  fault(
    `${withRedis("url: redis://a").replace(" # here", "")}once: { ttl: 60s } # here\n`,
    "once.ttl: less than 15m … from 15m",
  ),
  wrong("url: redis://u:canary-redis-pw@a:6379", ".url: password"),
  wrong('url: redis://a, sentinel: { name: m, nodes: ["s:26379"] }', ": one place only … keep one"),
  fault(redisWith("encryptionKeys: [ { file: DIR/token-key } ]"), "redis: where it is … url, sentinel or cluster"),
  wrong("url: redis://a, tls: {}", ".url: does not speak TLS … write rediss:// … , or remove tls"),
  wrong('url: "unix:/run/redis.sock", tls: {}', ".url: does not speak TLS … write rediss:// … , or remove tls"),
  wrong(
    'url: "rediss://a", tls: {}, lockNodes: ["rediss://b", "redis://c:6380/1"]',
    ".lockNodes[1]: redis:// does not speak TLS … write rediss://c:6380/1, or",
  ),
  wrong("url: rediss://a, tls: { certFile: DIR/cert }", ".tls.keyFile: no key … keyFile", { cert: clientCertificate }),
  wrong("url: rediss://a, tls: { caFile: DIR/k1 }", ".tls.caFile: no certificate … PEM"),
  wrong("url: rediss://a, username: countersign", ".username: username alone … add password"),
  wrong("url: rediss://a, username: u, password: { file: DIR/nothing }", ".password: ENOENT … create the file"),
  wrong(withLogin, loginSaid, { login: "canary-of-one-line-alone" }),
  wrong(withLogin, loginSaid, { login: "two words\ncanary-of-a-secret" }),
  wrong(withLogin, loginSaid, { login: "\ncanary-of-a-secret" }),
  wrong(
    'sentinel: { name: m, nodes: ["a:1"], password: { file: DIR/empty } }',
    ".sentinel.password: empty … put it into",
    { empty: "\n" },
  ),
  withKey("canary-of-good-length", "64 hex"),
  withKey("0".repeat(64), "one digit 64 times"),
  withKey("aA".repeat(32), "one digit 64 times"),
  withKey(`${tokenKey}0`, "64 hex"),
  ofKeys("{ file: DIR/token-key }, { file: DIR/capitals }", "[1]: here already … remove it", {
    capitals: `${tokenKey.toUpperCase()}\n`,
  }),
]);

const second = ".lockNodes[0]: one server twice … another server";

itRefuses("lock nodes that are not independent", [
  wrong('url: "redis://a", lockNodes: ["redis://b", "redis://c", "redis://d"]', ".lockNodes: odd … 3, 5"),
  wrong("url: redis://a:6379, lockNodes: [redis://b:6379]", ".lockNodes: odd … 3"),
  wrong(
    'sentinel: { name: m, nodes: ["s:1"] }, lockNodes: ["redis://b", "redis://c", "redis://d"]',
    ".lockNodes: odd … with url",
  ),
  wrong('url: "redis://b", lockNodes: ["redis://b:6379", "redis://c:6380"]', second),
  wrong('url: "redis://b", lockNodes: ["rediss://B/3", "redis://c:6380"]', second),
  wrong('url: "redis://localhost", lockNodes: ["redis://127.0.0.1:6379", "redis://c"]', second),
  wrong('url: "redis://127.0.0.1", lockNodes: ["redis://[::1]", "redis://c"]', second),
  wrong('url: "unix:/run/redis.sock", lockNodes: ["unix:///run/redis.sock?db=2", "redis://c"]', second),
  wrong('url: "redis://b", lockNodes: ["redis://c:6380", "redis://c:6380"]', second.replace("0", "1")),
]);

async function accessOf(settings: string, keys = "{ file: token-key }"): Promise<RedisAccess> {
  const keyFiles = { "token-key": `${tokenKey}\n`, "other-key": otherKey };
  const login = "user-of-the-hour\r\na-token-of-the-platform\n";
  const folder = new ConfigFolder({ ...keyFiles, login, ca: authority, cert: clientCertificate, key: clientKey });
  const redis = `redis: { ${settings}, encryptionKeys: [ ${keys} ] }\n`;
  const { tokens } = (await folder.loadSound(`${sound}tokens: { cache: redis }\n${redis}`)).config;
  if (tokens.cache === "memory") throw new Error("tokens are kept in memory");
  return tokens.redis;
}
