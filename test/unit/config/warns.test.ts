import { randomBytes } from "node:crypto";
import { symlinkSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ConfigFolder, edited, sound } from "../../../testkit/config-folder.ts";

const inSite3 = "environments.sandbox.sites.S1000000003";
/** Without the site that signs there is nothing to warn about. */
const quiet = sound.replace(/ {6}S1000000003:[\s\S]*/, "");

const base64 = (text: string) => Buffer.from(text).toString("base64");

async function warningsOf(folder: ConfigFolder, yaml: string, around = {}): Promise<string[]> {
  const loaded = await folder.loadSound(yaml, around);
  expect(JSON.stringify(loaded.warnings)).not.toContain("canary");
  return loaded.warnings.map(({ path, line, message, fix }) => `${line} ${path}: ${message}; ${fix}`);
}

describe("warned about, and loaded all the same", () => {
  test("nothing, where there is nothing", async () => {
    expect(await warningsOf(new ConfigFolder(), quiet)).toEqual([]);
  });

  test("HMAC", async () => {
    expect(await warningsOf(new ConfigFolder(), sound)).toEqual([
      `15 ${inSite3}: new clients must use OAuth from 2026-08-01; existing ones may stay with HMAC (spec 5.1); move the site to OAuth`,
    ]);
  });

  test.each(["1.8", "2.0"])("HMAC of version %s is not: OAuth is not for it (spec 9)", async (version) => {
    const site = "      S1000000003:\n";
    expect(sound).toContain(site);
    expect(await warningsOf(new ConfigFolder(), sound.replace(site, `${site}        version: "${version}"\n`))).toEqual(
      [],
    );
  });

  test("keys of an oauth-only site are for callbacks and not warned about", async () => {
    const keys = "        keys: [ { identifier: K1, secret: { file: DIR/k1 } } ]\n";
    expect(await warningsOf(new ConfigFolder(), `${quiet}${keys}`)).toEqual([]);
  });

  test.each([
    [15, 1],
    [16, 0],
  ])("a secret of %i bytes: %i warnings", async (length, count) => {
    const warnings = await warningsOf(new ConfigFolder({ "blue/client-secret": `${"x".repeat(length)}\n` }), quiet);
    expect(warnings).toHaveLength(count);
    for (const warning of warnings) expect(warning).toMatch(/^14 .*credentials\[0\]\.dir: .*shorter than 16 bytes/);
  });

  test.each([0o604, 0o644, 0o666])("a secret file that everyone may read: %o", async (mode) => {
    const folder = new ConfigFolder();
    folder.write("blue/client-secret", "canary-client-secret-blue", mode);
    const [warning, ...others] = await warningsOf(folder, quiet);
    expect(warning).toMatch(/everyone may read the secret in .*\/blue\/client-secret; .*chmod o-r/);
    expect(others).toEqual([]);
  });

  test.each([
    ["a second newline", "canary-client-secret-blue\n\n", 1],
    ["a trailing blank", "canary-client-secret-blue ", 1],
    ["a blank before the newline", "canary-client-secret-blue \n", 1],
    ["a tab in front", "\tcanary-client-secret-blue\n", 1],
    ["a byte order mark", "\ufeffcanary-client-secret-blue\n", 1],
    ["a carriage return too many", "canary-client-secret-blue\r\r\n", 1],
    ["one newline", "canary-client-secret-blue\n", 0],
    ["one newline of Windows", "canary-client-secret-blue\r\n", 0],
    ["a blank within", "canary client secret blue", 0],
  ])("a secret with %s", async (_, secret, count) => {
    const warnings = await warningsOf(new ConfigFolder({ "blue/client-secret": secret }), quiet);
    expect(warnings).toHaveLength(count);
    for (const warning of warnings) expect(warning).toMatch(/begins or ends with a blank.*; write it again without/);
  });

  test.each([
    ["in quotes", '"canary-client-secret-blue"\n', /stands in quotes.*; write it again without$/],
    ["in single quotes", "'canary-client-secret-blue'", /stands in quotes/],
    ["with one quote", "canary-client-secret-blue'", undefined],
    ["encoded once too often", base64("canary-client-secret-blue"), /is a text in Base64.*; write the text itself/],
    ["encoded with its newline", base64("canary-client-secret-blue\n"), /is a text in Base64/],
    ["that is a long word", "canaryclientsecretblue12", undefined],
    ["that is a random key in hex", "9f86d081884c7d659a2feaa0c55ad015", undefined],
    ["that is bytes in Base64", base64("canary-client-secret\u0001"), undefined],
  ])("a secret %s", async (_, secret, said) => {
    const warnings = await warningsOf(new ConfigFolder({ "blue/client-secret": secret }), quiet);
    expect(JSON.stringify(warnings)).not.toContain(secret.trim());
    expect(warnings).toEqual(said === undefined ? [] : [expect.stringMatching(said)]);
  });

  test("no random key in Base64", async () => {
    const folder = new ConfigFolder();
    for (let round = 0; round < 200; round++) {
      folder.write("blue/client-secret", randomBytes(16 + (round % 48)).toString("base64"));
      expect(await warningsOf(folder, quiet)).toEqual([]);
    }
  });

  test("a symlink counts by its target", async () => {
    const folder = new ConfigFolder();
    const target = folder.write("target", "canary-client-secret-blue", 0o604);
    symlinkSync(target, `${folder.path}/link`);
    const yaml = edited(["DIR/k1", "DIR/link"]);
    expect(await warningsOf(folder, yaml)).toContainEqual(expect.stringContaining("everyone may read"));
  });

  test("client ids and audiences may be read by everyone", async () => {
    const folder = new ConfigFolder();
    folder.write("blue/client-id", "blue-id", 0o644);
    folder.write("blue/audience", "https://api.example", 0o644);
    expect(await warningsOf(folder, quiet)).toEqual([]);
  });

  test("a secret mounted by subPath", async () => {
    const folder = new ConfigFolder();
    const mountPoints = new Set([`${folder.path}/blue/client-secret`]);
    const [warning] = await warningsOf(folder, quiet, { mountPoints });
    expect(warning).toMatch(/mounted by subPath and is never updated; mount its whole folder/);
  });

  test("the configuration file mounted by subPath", async () => {
    const folder = new ConfigFolder();
    const mountPoints = new Set([`${folder.path}/countersign.yaml`]);
    expect(await warningsOf(folder, quiet, { mountPoints })).toEqual([expect.stringMatching(/^1 : .*subPath/)]);
  });
});

describe("acknowledged", () => {
  const acknowledging = (codes: string, yaml = sound) => `${yaml}acknowledge: [ ${codes} ]\n`;

  test("a code silences its warnings, and no others", async () => {
    const folder = new ConfigFolder();
    folder.write("blue/client-secret", "short");
    const loaded = await folder.loadSound(acknowledging("hmac_for_existing_clients"));
    expect(loaded.warnings.map(({ code }) => code)).toEqual(["secret_short"]);
    expect(loaded.acknowledged.map(({ code, path }) => [code, path])).toEqual([["hmac_for_existing_clients", inSite3]]);
  });

  test("a code that is misspelt is refused with the one that was meant", async () => {
    const [problem, ...others] = await new ConfigFolder().problemsOf(acknowledging("hmac_for_existing_client"));
    expect(problem).toMatchObject({ path: "acknowledge[0]", message: "this value is not known" });
    expect(problem?.fix).toMatch(/did you mean hmac_for_existing_clients\? It can be .*secret_short/);
    expect(others).toEqual([]);
  });
});

describe("a Redis password in plain text beyond this machine", () => {
  const password = "password: { file: DIR/main }";
  const sentinel = (host: string, more: string) => `sentinel: { name: m, nodes: ["${host}:26379"]${more} }`;
  const warning = (path: string, fix: string) => `16 ${path}: the password goes over the network in plain text; ${fix}`;
  const urlWarning = (path: string) => warning(path, "use rediss:// (TLS)");
  const nodesWarning = (path: string) => warning(path, "use TLS and add tls: {}");

  test.each([
    [`url: redis://cache, ${password}`, [urlWarning("redis.url")]],
    [`url: redis://127.example.com, ${password}`, [urlWarning("redis.url")]],
    [`url: rediss://cache, ${password}`, []],
    [`url: redis://localhost, ${password}`, []],
    [`url: "redis://[::1]:6379", ${password}`, []],
    [`url: redis://127.0.0.2, ${password}`, []],
    [`url: "unix:/run/redis.sock", ${password}`, []],
    ["url: redis://cache", []],
    [
      `url: rediss://a, lockNodes: [redis://b, redis://c], ${password}`,
      [urlWarning("redis.lockNodes[0]"), urlWarning("redis.lockNodes[1]")],
    ],
    [`${sentinel("a", "")}, ${password}`, [nodesWarning("redis.sentinel")]],
    [sentinel("a", `, ${password}`), [nodesWarning("redis.sentinel")]],
    [sentinel("a", ""), []],
    [`${sentinel("localhost", "")}, ${password}`, []],
    [`${sentinel("a", "")}, tls: {}, ${password}`, []],
    [`cluster: { nodes: ["localhost:1", "a:1"] }, ${password}`, [nodesWarning("redis.cluster")]],
    [`cluster: { nodes: ["a:1"] }, tls: {}, ${password}`, []],
  ])("%s", async (settings, expected) => {
    const folder = new ConfigFolder();
    const redis = `redis: { ${settings}, encryptionKeys: [ { file: DIR/token-key } ] }\n`;
    expect(await warningsOf(folder, `${quiet}tokens: { cache: redis }\n${redis}`)).toEqual(expected);
  });
});
