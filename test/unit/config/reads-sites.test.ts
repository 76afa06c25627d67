/** The settings of a site, those that a child site inherits, and which keys verify callbacks and until when. */
import { describe, expect, test } from "vitest";
import { explain } from "../../../src/config/explain.ts";
import type { Site } from "../../../src/model/environment.ts";
import { ConfigFolder, edited, sound } from "../../../testkit/config-folder.ts";
import {
  at,
  blue,
  fault,
  inSite1,
  inSite3,
  itRefuses,
  key,
  site1,
  site3,
  withKey,
  withSet,
  withSite,
} from "./refusal.ts";

const rules = "identifyBy: key, characters: warn, exempt: [call], decimals: [fee]";
const ofRules = {
  ...{ identifyBy: "key", characters: "warn" },
  ...{ exempt: new Set(["call", "signature"]), decimals: new Set(["fee"]) },
};
const ownKey = "keys: [ { identifier: K9, secret: { file: DIR/k2 } } ]";
const child = "S1000000009";

describe("a child site", () => {
  test("has its parent's version and rules", async () => {
    const parent = `version: "2.0", ${rules}, keys: [ { identifier: K8, secret: { file: DIR/k1 } } ]`;
    const sites = await sitesOf(withSite(`S7: { ${parent}, children: { ${child}: { ${ownKey} } } }`));
    expect(sites.get(child)).toMatchObject({ version: "2.0", auth: ["hmac"], ...ofRules });
    expect(sites.get(child)?.defaultKey).toMatchObject({ identifier: "K9", version: "2.0" });
  });

  test("has its own settings if it names them", async () => {
    const own = `version: "3.1", ${rules}, auth: [hmac, oauth], ${ownKey}`;
    const sites = await sitesOf(inSite1(`children: { ${child}: { ${own} } }`));
    expect(sites.get("S1000000001")).toMatchObject({ version: "3.0", identifyBy: "site", characters: "reject" });
    expect(sites.get(child)).toMatchObject({
      ...{ version: "3.1", auth: ["hmac", "oauth"], ...ofRules },
      credentials: { owner: "S1000000001" },
    });
  });

  test("does not have its parent's keys (spec 5.3)", async () => {
    const problems = await new ConfigFolder().problemsOf(inSite3(`children: { ${child}: {} }`));
    expect(problems.map(({ path, message }) => [path, message])).toEqual([
      [`environments.sandbox.sites.S1000000003.children.${child}`, "the site has neither credentials nor keys"],
    ]);
  });

  test("does not have the methods of a parent with two", async () => {
    const sites = await sitesOf(inSite1(`auth: [hmac, oauth]\n        ${ownKey}\n        children: { ${child}: {} }`));
    expect(sites.get("S1000000001")?.auth).toEqual(["hmac", "oauth"]);
    expect(sites.get(child)?.auth).toEqual(["oauth"]);
  });
});

const spare = "          - { identifier: K2000000002, secret: { file: DIR/main } }\n";
const rotated = `${key.replace(" } }", " }, default: true }")}${spare}`;
const rotating = (entry: string) => inSite3(`alsoVerifyWith: [ ${entry} ]`).replace(key, rotated);
const verifying = (entry: string, said: string) => fault(rotating(entry), `${site3}.alsoVerifyWith[0].${said}`);

itRefuses("keys that cannot verify", [
  verifying("{ key: K2000000009, until: 2099-12-31 }", "key: no such key … one of its keys"),
  verifying("{ key: K2000000001, until: 2099-12-31 }", "key: anyway … another key"),
  verifying("{ key: K2000000002, until: 2099-02-30 }", "until: no day … 2026-12-31"),
  verifying("{ key: K2000000002 }", "until: missing"),
]);

test("a key verifies to the end of its last day, in UTC", async () => {
  const loaded = await new ConfigFolder().loadSound(rotating("{ key: K2000000002, until: 2026-11-22 }"));
  expect(loaded.config.environments.get("sandbox")?.sites.get("S1000000003")?.alsoVerifyWith).toMatchObject([
    { key: { identifier: "K2000000002" }, untilMs: Date.parse("2026-11-22T00:00:00Z") + 86_400_000 },
  ]);
  const shown = JSON.stringify(explain(loaded.config));
  expect(shown).toContain('"alsoVerifyWith":[{"key":"K2000000002","until":"2026-11-22"}]');
});

const defaultKey = (name: string) => `          - { identifier: ${name}, default: true, secret: { file: DIR/k1 } }\n`;
const set = (name: string, file = name) =>
  `          - { name: ${name}, clientId: ${file}-id, clientSecret: { file: DIR/${file} }, audience: a }\n`;
const green = "name: green, clientId: green-id, clientSecret: { file: DIR/green }";

const ofSite1 = (added: string, said: string) => fault(inSite1(added), `${site1}.${said}`);
const ofSite3 = (added: string, said: string) => fault(inSite3(added), `${site3}.${said}`);
const ofSet = (settings: string, said: string, files = {}) =>
  fault(withSet(settings), `${site1}.credentials[0].${said}`, files);
const ofKey = (entry: string, said: string) => fault(withKey(entry), `${site3}.keys[0].${said}`);
const ofKeys = (keys: string) =>
  fault(at("        keys:\n", edited([key, keys])), `${site3}.keys: exactly one default … default: true`);

itRefuses("sites that cannot authenticate", [
  ofSite1('version: "2.0"', "version: OAuth … 2.0 … 3.0"),
  ofSite1("version: 3.0", "version: number … quotes"),
  ofKey('identifier: K2000000001, version: "2.0", secret: { file: DIR/k1 }', "version: 2.0 … 3.0 … site's version"),
  ofKey("identifier: K2000000001, version: 3.0, secret: { file: DIR/k1 }", "version: number … quotes"),
  ofKeys(`${key}          - { identifier: K2, secret: { file: DIR/k2 } }\n`),
  ofKeys(["K1", "K2"].map(defaultKey).join("")),
  ofSite1(
    "checkCallerSignature: report",
    "checkCallerSignature: no keys to check signatures with … add the keys that callers sign with",
  ),
  fault(
    at("        credentials:\n", edited([blue, `${blue}${set("green")}${set("main")}`])),
    `${site1}.credentials: at most two … remove`,
  ),
  fault(
    edited([blue, `${blue}${set("blue", "green").replace("\n", " # here\n")}`]),
    `${site1}.credentials[1].name: name`,
  ),
  ofSet(green, "audience: missing … add"),
  ofSet(`${green}, audience: ""`, "audience: empty"),
  fault(at(blue, sound), `${site1}.credentials[0].dir: audience … empty … blue/audience`, { "blue/audience": "\n" }),
  ofSet("name: blue, dir: DIR/k1", "dir: the folder is a file … name a folder"),
  ofSet("name: blue, dir: DIR/other", "dir: cannot be read (ENOENT) … create", {
    "other/client-id": "other-id",
    "other/client-secret": "canary-client-secret-other",
  }),
  ofSet(
    "name: blue, dir: DIR/blue, clientId: abc",
    "clientId: clientId does not go with dir … remove clientId, or remove dir; with clientId can stand clientSecret, audience, privateKey",
  ),
  ofSite1("auth: [oauth, hmac]", "auth[1]: no keys … keys"),
  ofSite3("auth: [oauth]", "auth[0]: no credentials … credentials"),
  ofSite1("auth: [oauth, oauth]", "auth[1]: twice … remove"),
  ofSite1("bridge: hmac", "bridge: OAuth first … [oauth, hmac]"),
  ofSite3("bridge: hmac", "bridge: OAuth first … [oauth, hmac]"),
  fault(withSite("S9: { decimals: [a] }"), ".sites.S9: neither credentials nor keys … credentials … keys"),
  ...["version", "site_identifier", "timestamp"].map((name) =>
    ofSite3(`exempt: [format, ${name}]`, "exempt[1]: must be signed … 5.2"),
  ),
]);

async function sitesOf(yaml: string): Promise<ReadonlyMap<string, Site>> {
  const loaded = await new ConfigFolder().loadSound(yaml);
  return loaded.config.environments.get("sandbox")?.sites ?? expect.unreachable();
}
