import { describe, expect, test } from "vitest";
import type { RedisAccess } from "../../../src/model/redis-access.ts";
import { authority, clientCertificate, clientKey } from "../../../testkit/certificates.ts";
import { ConfigFolder, sound, tokenKey } from "../../../testkit/config-folder.ts";

// What is written about Redis becomes exactly what the adapters are given.

const otherKey = tokenKey.replace("0", "F");

async function accessOf(settings: string, keys = "{ file: token-key }"): Promise<RedisAccess> {
  const keyFiles = { "token-key": `${tokenKey}\n`, "other-key": otherKey };
  const login = "user-of-the-hour\r\na-token-of-the-platform\n";
  const folder = new ConfigFolder({ ...keyFiles, login, ca: authority, cert: clientCertificate, key: clientKey });
  const redis = `redis: { ${settings}, encryptionKeys: [ ${keys} ] }\n`;
  const { tokens } = (await folder.loadSound(`${sound}tokens: { cache: redis }\n${redis}`)).config;
  if (tokens.cache === "memory") throw new Error("tokens are kept in memory");
  return tokens.redis;
}

const tcp = { kind: "tcp", host: "cache", port: 6379, tls: false, db: 0 } as const;

test.each([
  ["url: redis://cache", { kind: "standalone", node: tcp }],
  ["url: rediss://cache:6380/15", { kind: "standalone", node: { ...tcp, port: 6380, tls: true, db: 15 } }],
  ['url: "redis://[::1]:6379/"', { kind: "standalone", node: { ...tcp, host: "::1" } }],
  ['url: "unix:/run/r.sock?db=1"', { kind: "standalone", node: { kind: "unix", path: "/run/r.sock", db: 1 } }],
  [
    'sentinel: { name: main, nodes: ["a:26379", "[::1]:26380"] }',
    {
      kind: "sentinel",
      master: "main",
      nodes: [
        { host: "a", port: 26_379 },
        { host: "::1", port: 26_380 },
      ],
      password: undefined,
    },
  ],
  [
    'cluster: { nodes: ["a:7000", "B:7001"] }',
    {
      kind: "cluster",
      nodes: [
        { host: "a", port: 7_000 },
        { host: "b", port: 7_001 },
      ],
    },
  ],
])("the place of the cache %s", async (settings, place) => {
  const { encryptionKeys, ...access } = await accessOf(settings);
  expect(encryptionKeys.map(({ key }) => key.export().toString("hex"))).toEqual([tokenKey]);
  expect(access).toStrictEqual({ place, lockNodes: [], username: undefined, password: undefined, tls: undefined });
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
  expect(encryptionKeys.map(({ length }) => length)).toEqual([32, 32]);
  expect(encryptionKeys.map(({ key }) => key.export())).toEqual([
    Buffer.from(otherKey, "hex"),
    Buffer.from(tokenKey, "hex"),
  ]);
});
