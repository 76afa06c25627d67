import { symlinkSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ConfigFolder, edited, sound, tokenKey } from "./config-folder.ts";

const inSite3 = "environments.sandbox.sites.S1000000003";
/** Without the site that signs there is nothing to warn about. */
const quiet = sound.replace(/ {6}S1000000003:[\s\S]*/, "");

async function warningsOf(folder: ConfigFolder, yaml: string, around = {}): Promise<string[]> {
  const loaded = await folder.load(yaml, around);
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems));
  expect(JSON.stringify(loaded.warnings)).not.toContain("canary");
  return loaded.warnings.map(({ path, line, message, mend }) => `${line} ${path}: ${message}; ${mend}`);
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

  test("keys of an oauth-only site are for callbacks and not warned about", async () => {
    const keys = "        keys: [ { identifier: K1, secret: { file: DIR/k1 } } ]\n";
    expect(await warningsOf(new ConfigFolder(), `${quiet}${keys}`)).toEqual([]);
  });

  test.each([
    [15, 1],
    [16, 0],
  ])("a secret of %i bytes: %i warnings", async (length, count) => {
    const folder = new ConfigFolder();
    folder.write("blue/client-secret", `${"x".repeat(length)}\n`);
    const warnings = await warningsOf(folder, quiet);
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

  test("a section redis that is not used", async () => {
    const folder = new ConfigFolder();
    folder.write("token-key", tokenKey);
    const redis = "redis: { url: redis://cache:6379, encryptionKeys: [ { file: DIR/token-key } ] }\n";
    const [warning, ...others] = await warningsOf(folder, `${quiet}${redis}`);
    expect(warning).toMatch(/^15 redis: redis is not used/);
    expect(others).toEqual([]);
  });
});

describe("a Redis password in plain text beyond this machine", () => {
  const password = "password: { file: DIR/main }";
  const sentinel = (host: string, more: string) => `sentinel: { name: m, nodes: ["${host}:26379"]${more} }`;
  const warning = (path: string, mend: string) =>
    `16 ${path}: the password goes over the network in plain text; ${mend}`;
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
    folder.write("token-key", tokenKey);
    const redis = `redis: { ${settings}, encryptionKeys: [ { file: DIR/token-key } ] }\n`;
    expect(await warningsOf(folder, `${quiet}tokens: { cache: redis }\n${redis}`)).toEqual(expected);
  });
});
