import { expect, test } from "vitest";
import { ConfigFolder, edited, production, sound } from "../../../testkit/config-folder.ts";
import { baseUrl, blue, key, lineOfSite1, lineOfSite3, redisWith } from "./refusal.ts";

// One fault, one problem: what was concluded from a place that is faulty itself is not reported beside it. The walk in
// one-fault-hides-no-other.test.ts covers every place of one file; these are the cases that it cannot reach.

const key2 = '          - { identifier: K2000000001, version: "2.0", secret: { file: DIR/k1 } }\n';
const [site1, site3] = ["sites.S1000000001", "sites.S1000000003"];
const place = '"127.0.0.1:7411", environment: sandbox';
const twoWrongKeys = "encryptionKeys: [ { file: k2 }, { file: k2 } ]";
const twoKeys = (isDefault: string) => {
  const [first, second] = [`K1, default: ${isDefault}, secret: { file: DIR/k1 }`, "K2, secret: { file: DIR/nothing }"];
  return edited([key, [first, second].map((each) => `          - { identifier: ${each} }\n`).join("")]);
};

/** Those of environments without their first words. */
async function placesOf(yaml: string): Promise<string[]> {
  const problems = await new ConfigFolder().problemsOf(yaml);
  return problems.map(({ path }) => path.replace(/^environments\.(sandbox\.)?/, ""));
}

test.each<[what: string, yaml: string, paths: string[]]>([
  [
    "two environments whose addresses are both unreadable do not share them",
    `${edited(["https://api.sandbox.example/json-api", "a"], ["https://login.sandbox.example", "b"])}${production.replace("https://api.example\n", "a\n").replace("https://login.example", "b")}`,
    ["baseUrl", "authUrl", "production.baseUrl", "production.authUrl"],
  ],
  [
    "a default site that may be among children that are no mapping",
    edited(["defaultSite: S1000000001", "defaultSite: S2"], [blue, `${blue}        children: [S2]\n`]),
    [`${site1}.children`],
  ],
  [
    "http with an allowPlaintext that is neither true nor false",
    edited([
      "    baseUrl: https://api.sandbox.example/json-api\n",
      "    baseUrl: http://api.sandbox.example\n    allowPlaintext: sure\n",
    ]),
    ["allowPlaintext"],
  ],
  [
    "OAuth and a version where the method is misspelt",
    edited([lineOfSite1, `${lineOfSite1}        version: "2.0"\n        auth: [hmca]\n`]),
    [`${site1}.auth[0]`],
  ],
  [
    "a key's version where the site's is a number",
    edited([lineOfSite3, `${lineOfSite3}        version: 2.0\n`], [key, key2]),
    [`${site3}.version`],
  ],
  [
    "a child key's version where the parent's is a number",
    edited([
      `        keys:\n${key}`,
      `        version: 2.0\n        keys:\n${key}        children:
          S5: { keys: [ { identifier: K9, version: "2.0", secret: { file: DIR/k2 } } ] }\n`,
    ]),
    [`${site3}.version`],
  ],
  [
    "callbacks where the only key is in a file that cannot be read",
    `${edited(["DIR/k1", "DIR/none"])}callbacks:
  - { bind: "127.0.0.1:7414", environment: sandbox, application: { url: "http://127.0.0.1:8080/callbacks" } }\n`,
    [`${site3}.keys[0].secret`],
  ],
  [
    "a child without credentials where its parent's are misspelt",
    edited([`credentials:\n${blue}`, `credential:\n${blue}        children: { S5: {} }\n`]),
    [`${site1}.credential`],
  ],
  [
    "a Redis user without a password where it is misspelt",
    redisWith(`url: rediss://a, username: u, pasword: {}, ${twoWrongKeys}`),
    ["redis.pasword"],
  ],
  [
    "an encryption key twice where it is none",
    redisWith(`url: rediss://a, ${twoWrongKeys}`),
    ["redis.encryptionKeys[0]", "redis.encryptionKeys[1]"],
  ],
  [
    "a listener's environment where there is none at all",
    `${sound.replace(/environments:[\s\S]*/, "environments: {}\n")}`,
    ["environments"],
  ],
  ["a default site where there is none at all", `${sound.replace(/ {4}sites:[\s\S]*/, "    sites: {}\n")}`, ["sites"]],
  [
    "lock nodes of a Redis that is nowhere",
    redisWith("lockNodes: [redis://b, redis://c], encryptionKeys: [ { file: k2 } ]"),
    ["redis", "redis.encryptionKeys[0]"],
  ],
  [
    "lock nodes of a Redis that is nowhere, but for a server named twice",
    redisWith("lockNodes: [redis://b, redis://b], encryptionKeys: [ { file: k2 } ]"),
    ["redis", "redis.lockNodes[1]", "redis.encryptionKeys[0]"],
  ],
  [
    "a listener without callers where those are faulty",
    edited([place, '":7411", environment: sandbox, callers: everyone']),
    ["listeners[0].callers"],
  ],
  ["a key's secret that is missing, beside a faulty default", twoKeys('"true"'), [`${site3}.keys[0].default`]],
  ["the same with a sound default", twoKeys("true"), [`${site3}.keys[1].secret`]],
  [
    "a child of a parent whose secrets cannot be read",
    edited(["DIR/blue }\n", "DIR/nowhere }\n        children: { S1000000002: { auth: [oauth] } }\n"]),
    Array(3).fill(`${site1}.credentials[0].dir`),
  ],
  ["a listener of an environment that is faulty", edited([baseUrl, ""]), ["baseUrl"]],
  [
    "an auth whose keys are faulty",
    edited(["        keys:\n", "        auth: [hmac]\n        keys:\n"], ["K2000000001", "X2000000001"]),
    [`${site3}.keys[0].identifier`],
  ],
])("%s", async (_, yaml, paths) => {
  expect(await placesOf(yaml)).toEqual(paths);
});

test("what cannot be without something missing goes with it, and nothing else does", async () => {
  const pathsWith = async (cluster: string, sentinel: string) => {
    const redis = `tokens: { cache: redis }\nredis: { cluster: { ${cluster} }, sentinel: { ${sentinel}nodes: ["a:1"] } }\n`;
    const yaml = `${sound.replace("DIR/k1", "DIR/nothing")}${redis}`;
    return placesOf(yaml);
  };
  expect(await pathsWith("", "")).toEqual(["redis.cluster.nodes", "redis.sentinel.name"]);
  expect(await pathsWith('nodes: ["a:1"]', "name: m, ")).toEqual([
    `${site3}.keys[0].secret`,
    "redis",
    "redis.encryptionKeys",
  ]);
});
