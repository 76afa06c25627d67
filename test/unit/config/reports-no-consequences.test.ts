import { expect, test } from "vitest";
import { ConfigFolder, edited, production, sound } from "../../../testkit/config-folder.ts";

// One fault, one problem: what was concluded from a place that is faulty itself is not reported beside it. The walk in
// one-fault-hides-no-other.test.ts covers every place of one file; these are the cases that it cannot reach.

const blue = "          - { name: blue, dir: DIR/blue }\n";
const key = "          - { identifier: K2000000001, secret: { file: DIR/k1 } }\n";
const key2 = '          - { identifier: K2000000001, version: "2.0", secret: { file: DIR/k1 } }\n';
const inSite1 = "      S1000000001:\n";
const inSite3 = "      S1000000003:\n";
const sandbox = "environments.sandbox";

test.each([
  {
    what: "two environments whose addresses are both unreadable do not share them",
    yaml: `${edited(["https://api.sandbox.example/json-api", "a"], ["https://login.sandbox.example", "b"])}${production.replace("https://api.example\n", "a\n").replace("https://login.example", "b")}`,
    paths: [
      `${sandbox}.baseUrl`,
      `${sandbox}.authUrl`,
      "environments.production.baseUrl",
      "environments.production.authUrl",
    ],
  },
  {
    what: "a default site that may be among children that are no mapping",
    yaml: edited(["defaultSite: S1000000001", "defaultSite: S2"], [blue, `${blue}        children: [S2]\n`]),
    paths: [`${sandbox}.sites.S1000000001.children`],
  },
  {
    what: "http with an allowPlaintext that is neither true nor false",
    yaml: edited([
      "    baseUrl: https://api.sandbox.example/json-api\n",
      "    baseUrl: http://api.sandbox.example\n    allowPlaintext: sure\n",
    ]),
    paths: [`${sandbox}.allowPlaintext`],
  },
  {
    what: "OAuth and a version where the method is misspelt",
    yaml: edited([inSite1, `${inSite1}        version: "2.0"\n        auth: [hmca]\n`]),
    paths: [`${sandbox}.sites.S1000000001.auth[0]`],
  },
  {
    what: "a key's version where the site's is a number",
    yaml: edited([inSite3, `${inSite3}        version: 2.0\n`], [key, key2]),
    paths: [`${sandbox}.sites.S1000000003.version`],
  },
  {
    what: "a child key's version where the parent's is a number",
    yaml: edited([
      `        keys:\n${key}`,
      `        version: 2.0\n        keys:\n${key}        children:
          S5: { keys: [ { identifier: K9, version: "2.0", secret: { file: DIR/k2 } } ] }\n`,
    ]),
    paths: [`${sandbox}.sites.S1000000003.version`],
  },
  {
    what: "callbacks where the only key is in a file that cannot be read",
    yaml: `${edited(["DIR/k1", "DIR/none"])}callbacks:
  - { bind: "127.0.0.1:7414", environment: sandbox, application: { url: "http://127.0.0.1:8080/callbacks" } }\n`,
    paths: [`${sandbox}.sites.S1000000003.keys[0].secret`],
  },
  {
    what: "a child without credentials where its parent's are misspelt",
    yaml: edited([`credentials:\n${blue}`, `credential:\n${blue}        children: { S5: {} }\n`]),
    paths: [`${sandbox}.sites.S1000000001.credential`],
  },
  {
    what: "a Redis user without a password where it is misspelt",
    yaml: `${sound}redis: { url: rediss://a, username: u, pasword: {}, encryptionKeys: [ { file: k2 }, { file: k2 } ] }\n`,
    paths: ["redis.pasword"],
  },
  {
    what: "an encryption key twice where it is none",
    yaml: `${sound}redis: { url: rediss://a, encryptionKeys: [ { file: k2 }, { file: k2 } ] }\n`,
    paths: ["redis.encryptionKeys[0]", "redis.encryptionKeys[1]"],
  },
  {
    what: "a listener's environment where there is none at all",
    yaml: `${sound.replace(/environments:[\s\S]*/, "environments: {}\n")}`,
    paths: ["environments"],
  },
  {
    what: "a default site where there is none at all",
    yaml: `${sound.replace(/ {4}sites:[\s\S]*/, "    sites: {}\n")}`,
    paths: [`${sandbox}.sites`],
  },
  {
    what: "lock nodes of a Redis that is nowhere",
    yaml: `${sound}redis: { lockNodes: [redis://b, redis://c], encryptionKeys: [ { file: k2 } ] }\n`,
    paths: ["redis", "redis.encryptionKeys[0]"],
  },
  {
    what: "lock nodes of a Redis that is nowhere, but for a server named twice",
    yaml: `${sound}redis: { lockNodes: [redis://b, redis://b], encryptionKeys: [ { file: k2 } ] }\n`,
    paths: ["redis", "redis.lockNodes[1]", "redis.encryptionKeys[0]"],
  },
])("$what", async ({ yaml, paths }) => {
  const problems = await new ConfigFolder().problemsOf(yaml);
  expect(problems.map(({ path }) => path)).toEqual(paths);
});

test("what cannot be without something missing goes with it, and nothing else does", async () => {
  const pathsWith = async (cluster: string, sentinel: string) => {
    const redis = `redis: { cluster: { ${cluster} }, sentinel: { ${sentinel}nodes: ["a:1"] } }\n`;
    const yaml = `${sound.replace("DIR/k1", "DIR/nothing")}${redis}`;
    return (await new ConfigFolder().problemsOf(yaml)).map(({ path }) => path);
  };
  expect(await pathsWith("", "")).toEqual(["redis.cluster.nodes", "redis.sentinel.name"]);
  expect(await pathsWith('nodes: ["a:1"]', "name: m, ")).toEqual([
    `${sandbox}.sites.S1000000003.keys[0].secret`,
    "redis",
    "redis.encryptionKeys",
  ]);
});
