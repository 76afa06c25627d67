import { randomBytes } from "node:crypto";
import { symlinkSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { located } from "../../../src/config/diagnostics.ts";
import { ConfigFolder, canaries, edited, production, sound } from "../../../testkit/config-folder.ts";

const inSite3 = "environments.sandbox.sites.S1000000003";
/** Without the site that signs there is nothing to warn about. */
const quiet = sound.replace(/ {6}S1000000003:[\s\S]*/, "");

const base64 = (text: string) => Buffer.from(text).toString("base64");

const dir = "14 environments.sandbox.sites.S1000000001.credentials[0].dir";

describe("warned about, and loaded all the same", () => {
  test("nothing, in a configuration without a doubtful setting", async () => {
    expect(await warningsOf(new ConfigFolder(), quiet)).toEqual([]);
  });

  test.each([
    ["3.0", [`${inSite3} hmac_for_existing_clients`]],
    ["1.8", []],
    ["2.0", []],
  ])("HMAC of version %s: not in a version without OAuth (spec 9)", async (version, expected) => {
    const site = "      S1000000003:\n";
    const codes = await codesOf(new ConfigFolder(), edited([site, `${site}        version: "${version}"\n`]));
    expect(codes).toEqual(expected.map((each) => `15 ${each}`));
  });

  test.each(["CLIENT_ID", "YOUR_CLIENT_ID", "<client id>", "CHANGE_ME", "$CLIENT"])(
    "a client id that is %s",
    async (id) => {
      const yaml = quiet.replace("dir: DIR/blue", `clientId: "${id}", clientSecret: { file: DIR/green }, audience: a`);
      const expected = [expect.stringContaining(`clientId placeholder_left: the client id is a placeholder, ${id};`)];
      expect(await warningsOf(new ConfigFolder(), yaml)).toEqual(expected);
      expect(await codesOf(new ConfigFolder({ "blue/client-id": id }), quiet)).toEqual([`${dir} placeholder_left`]);
    },
  );

  test.each(["client-id", "ID_OF_CLIENT_ID", "a<b>"])("no client id like %s", async (id) => {
    expect(await codesOf(new ConfigFolder({ "blue/client-id": id }), quiet)).toEqual([]);
  });

  const set = "credentials: [ { name: blue, dir: DIR/blue } ]";
  const keys = "keys: [ { identifier: K1, secret: { file: DIR/k1 } } ]";
  const warningsOfSite = (site: string) =>
    warningsOf(new ConfigFolder(), quiet.replace(/ {4}defaultSite:[\s\S]*/, `    sites:\n      ${site}\n`));

  test.each([
    `S5: { ${set}, ${keys} }`,
    `S5: { ${set}, ${keys}, auth: [oauth] }`,
    `S5: { ${set}, children: { S6: { ${keys} } } }`,
  ])("keys of an oauth-only site are for callbacks and not warned about: %s", async (site) => {
    expect(await warningsOfSite(site)).toEqual([]);
  });

  const [mayStay, add] = ["older ones may sign", "the site has credentials: add oauth to auth"];
  test.each([
    [`S5: { ${keys} }`, mayStay, "move the site to OAuth"],
    [`S5: { ${set}, ${keys}, auth: [hmac] }`, mayStay, add],
    [`S5: { ${set}, children: { S6: { ${keys}, auth: [hmac] } } }`, mayStay, add],
    [`S5: { ${set}, ${keys}, auth: [hmac, oauth] }`, mayStay, "put oauth first in auth, and remove hmac in the end"],
    [`S5: { ${set}, ${keys}, auth: [oauth, hmac] }`, mayStay, "for a new client, remove hmac from auth"],
    [
      `S5: { ${set}, ${keys}, auth: [oauth, hmac], bridge: hmac }`,
      "the outage bridge is for older ones",
      "for a new client, remove bridge, and hmac from auth",
    ],
  ])("a site that may sign is told what is left to do, and not what is done: %s", async (site, who, fix) => {
    const said = `hmac_for_existing_clients: new clients must use OAuth since 2026-08-01; ${who} (spec 5.1); ${fix}`;
    const warnings = await warningsOfSite(site);
    expect(warnings.map((warning) => warning.replace(/^11 environments\.sandbox\.sites\.\S+ /, ""))).toEqual([said]);
  });

  test.each([
    [15, [`${dir} secret_short: `]],
    [16, []],
  ])("a secret of %i bytes", async (length, expected) => {
    expect(await ofSecret(`${"x".repeat(length)}\n`)).toEqual(expected.map((each) => expect.stringContaining(each)));
  });

  test.each([0o604, 0o644, 0o666])("a secret file that everyone may read: %o", async (mode) => {
    const readable = /^.* secret_readable_by_all: .*\/blue\/client-secret; .*chmod o-r/;
    expect(await ofSecret(canaries.blue, mode)).toEqual([expect.stringMatching(readable)]);
  });

  test.each([
    ["with a second newline", "canary-client-secret-blue\n\n", "line break .* at character 26"],
    ["with a trailing blank", "canary-client-secret-blue ", "blank .* at character 26"],
    ["with a blank before the newline", "canary-client-secret-blue \n", "blank .* at character 26"],
    ["with a tab in front", "\tcanary-client-secret-blue\n", "tab .* at character 1"],
    ["with a byte order mark", "\ufeffcanary-client-secret-blue\n", "byte order mark .* at character 1"],
    ["with a carriage return too many", "canary-client-secret-blue\r\r\n", "carriage return .* at character 26"],
    ["with one newline", "canary-client-secret-blue\n", undefined],
    ["with one newline of Windows", "canary-client-secret-blue\r\n", undefined],
    ["with a blank within", "canary client secret blue", undefined],
    ["in quotes", '"canary-client-secret-blue"\n', "quotes"],
    ["in single quotes", "'canary-client-secret-blue'", "quotes"],
    ["with one quote", "canary-client-secret-blue'", undefined],
    ["encoded once too often", base64("canary-client-secret-blue"), "Base64"],
    ["encoded with its newline", base64("canary-client-secret-blue\n"), "Base64"],
    ["that is a long word", "canaryclientsecretblue12", undefined],
    ["that is a random key in hex", "9f86d081884c7d659a2feaa0c55ad015", undefined],
    ["that is bytes in Base64", base64("canary-client-secret\u0001"), undefined],
  ])("a secret %s", async (_, secret, said) => {
    const warnings = await ofSecret(secret);
    expect(JSON.stringify(warnings)).not.toContain(secret.trim());
    expect(warnings).toEqual(said === undefined ? [] : [expect.stringMatching(`secret_not_plain: .*${said}`)]);
  });

  test("no random key in Base64", async () => {
    const folder = new ConfigFolder();
    for (let round = 0; round < 200; round++) {
      expect(await ofSecret(randomBytes(16 + (round % 48)).toString("base64"), undefined, folder)).toEqual([]);
    }
  });

  test("a symlink is judged by its target", async () => {
    const folder = new ConfigFolder();
    const target = folder.write("target", "canary-client-secret-blue", 0o604);
    symlinkSync(target, `${folder.path}/link`);
    const codes = await codesOf(folder, edited(["DIR/k1", "DIR/link"]));
    expect(codes).toContainEqual(expect.stringMatching(/ secret_readable_by_all$/));
  });

  test("client ids and audiences may be read by everyone", async () => {
    const folder = new ConfigFolder();
    folder.write("blue/client-id", "blue-id", 0o644);
    folder.write("blue/audience", "https://api.example", 0o644);
    expect(await warningsOf(folder, quiet)).toEqual([]);
  });

  test.each([
    ["blue/client-secret", dir],
    ["countersign.yaml", "1 "],
  ])("%s mounted by subPath", async (name, place) => {
    const folder = new ConfigFolder();
    const mountPoints = new Set([`${folder.path}/${name}`]);
    expect(await codesOf(folder, quiet, { mountPoints })).toEqual([`${place} mounted_by_subpath`]);
  });
});

describe("settings that do nothing, or not what was meant", () => {
  const [first, second] = ["{ name: blue, dir: DIR/blue }", "{ name: green, dir: DIR/blue }"];
  const places = (yaml: string) => codesOf(new ConfigFolder(), yaml);

  test("a second credential set from the files of the first", async () => {
    const twoSets = quiet.replace(first, `${first}\n          - ${second}`);
    expect(await places(twoSets)).toEqual([
      "15 environments.sandbox.sites.S1000000001.credentials[1] credential_sets_same",
    ]);
    expect(await places(twoSets.replace(second, second.replace(" }", ", token: { scope: orders } }")))).toEqual([]);
  });

  test("two clients with one secret", async () => {
    const own = (name: string) =>
      `{ name: ${name}, clientId: ${name}-id, clientSecret: { file: DIR/main }, audience: a }`;
    const twoSets = quiet.replace(first, `${own("a")}\n          - ${own("b")}`);
    expect(await places(twoSets)).toEqual([
      "15 environments.sandbox.sites.S1000000001.credentials[1] credential_sets_same",
    ]);
    expect(await places(twoSets.replace("DIR/main", "DIR/green"))).toEqual([]);
  });

  test("an environment that no listener leads to; one of callbacks is used", async () => {
    expect(await places(`${quiet}${production}`)).toEqual(["15 environments.production environment_unused"]);
    const application = 'application: { url: "http://127.0.0.1:80" }';
    const callbacks = `callbacks: [ { bind: "127.0.0.1:7414", environment: production, ${application} } ]\n`;
    const keys = "        keys: [ { identifier: K1, secret: { file: DIR/k1 } } ]\n";
    expect(await places(`${quiet}${production}${keys}${callbacks}`)).toEqual([]);
  });

  test("a socket in a folder that is not there; serve cannot listen in it", async () => {
    const inFolder = (folder: string) => quiet.replace(/bind: "127[^"]+"/, `bind: "unix:${folder}/a.sock"`);
    const [place = ""] = await places(inFolder("/nowhere"));
    expect(place).toMatch(/^\d+ listeners\[0\]\.bind socket_folder_absent$/);
    expect(await places(inFolder("/tmp"))).toEqual([]);
  });

  test.each([
    ["request: 3s, connect: 4s, token: 3s", ["15 timeouts.connect"]],
    ["request: 3s, token: 3001ms", ["15 timeouts.token"]],
    ["token: 30s", ["15 timeouts.token"]],
    ["request: 1s", []],
  ])("a timeout that is written longer than a request's: %s", async (timeouts, expected) => {
    const codes = await places(`${quiet}timeouts: { ${timeouts} }\n`);
    expect(codes).toEqual(expected.map((place) => `${place} timeout_beyond_request`));
  });

  test.each([
    ["timeout: 50s", "", ["15 callbacks[0].application.timeout timeout_beyond_request"]],
    ["timeout: 20s", "", []],
    ["", "timeouts: { request: 3s }\n", []],
  ])("an application's timeout beyond a request's: %s, %s", async (timeout, timeouts, expected) => {
    const application = `application: { url: "http://127.0.0.1:80"${timeout && `, ${timeout}`} }`;
    const keys = "        keys: [ { identifier: K1, secret: { file: DIR/k1 } } ]\n";
    const callbacks = `callbacks: [ { bind: "127.0.0.1:7414", environment: sandbox, ${application} } ]\n`;
    expect(await places(`${quiet}${keys}${callbacks}${timeouts}`)).toEqual(
      expected.map((each) => each.replace("15", "16")),
    );
  });

  test.each([
    ["2020-02-29", ["15 environments.sandbox.sites.S1000000001.alsoVerifyWith[0].until until_past"]],
    ["2999-12-31", []],
  ])("a key that verifies callbacks until %s", async (until, expected) => {
    const key = (name: string, more = "") =>
      `{ identifier: ${name}, secret: { file: DIR/${name.toLowerCase()} }${more} }`;
    const keys = `        keys: [ ${key("K1", ", default: true")}, ${key("K2")} ]\n`;
    expect(await places(`${quiet}        alsoVerifyWith: [ { key: K2, until: ${until} } ]\n${keys}`)).toEqual(expected);
  });

  test("one site in two environments", async () => {
    const both = (site: string) =>
      edited([
        "environment: sandbox }\n",
        'environment: sandbox }\n  - { bind: "127.0.0.1:7415", environment: production }\n',
      ])
        .replace(/ {6}S1000000003:[\s\S]*/, "")
        .concat(production.replace("S2000000001", site));
    expect(await places(both("S2000000001"))).toEqual([]);
    expect(await warningsOf(new ConfigFolder(), both("S1000000001"))).toEqual([
      expect.stringMatching(/^20 environments\.production\.sites site_in_two_environments: S1000000001 is also /),
    ]);
  });
});

describe("acknowledged", () => {
  const acknowledging = (codes: string, yaml = sound) => `${yaml}acknowledge: [ ${codes} ]\n`;

  test("a code silences its warnings, and no others", async () => {
    const folder = new ConfigFolder();
    folder.write("blue/client-secret", "short");
    const loaded = await folder.loadSound(acknowledging("hmac_for_existing_clients"));
    expect(loaded.warnings.map(({ code }) => code)).toEqual(["secret_short"]);
    expect(located(loaded.acknowledged).map(({ code, path }) => [code, path])).toEqual([
      ["hmac_for_existing_clients", inSite3],
    ]);
  });

  test("a misspelt code is refused, and the message suggests the right one", async () => {
    const [problem, ...others] = await new ConfigFolder().problemsOf(acknowledging("hmac_for_existing_client"));
    expect(problem).toMatchObject({ path: "acknowledge[0]", message: "this value is not known" });
    expect(problem?.fix).toMatch(/did you mean hmac_for_existing_clients\? It can be .*secret_short/);
    expect(others).toEqual([]);
  });
});

describe("a Redis password in plain text beyond this machine", () => {
  const password = "password: { file: DIR/main }";
  const sentinel = (host: string, more: string) => `sentinel: { name: m, nodes: ["${host}:26379"]${more} }`;

  test.each([
    [`url: redis://cache, ${password}`, ["redis.url"]],
    [`url: redis://127.example.com, ${password}`, ["redis.url"]],
    [`url: rediss://cache, ${password}`, []],
    [`url: redis://localhost, ${password}`, []],
    [`url: "redis://[::1]:6379", ${password}`, []],
    [`url: redis://127.0.0.2, ${password}`, []],
    [`url: "unix:/run/redis.sock", ${password}`, []],
    ["url: redis://cache", []],
    [`url: rediss://a, lockNodes: [redis://b, redis://c], ${password}`, ["redis.lockNodes[0]", "redis.lockNodes[1]"]],
    [`${sentinel("a", "")}, ${password}`, ["redis.sentinel"]],
    [sentinel("a", `, ${password}`), ["redis.sentinel"]],
    [sentinel("a", ""), []],
    [`${sentinel("localhost", "")}, ${password}`, []],
    [`${sentinel("a", "")}, tls: {}, ${password}`, []],
    [`cluster: { nodes: ["localhost:1", "a:1"] }, ${password}`, ["redis.cluster"]],
    [`cluster: { nodes: ["a:1"] }, tls: {}, ${password}`, []],
  ])("%s", async (settings, expected) => {
    const folder = new ConfigFolder();
    const redis = `redis: { ${settings}, encryptionKeys: [ { file: DIR/token-key } ] }\n`;
    const codes = await codesOf(folder, `${quiet}tokens: { cache: redis }\n${redis}`);
    expect(codes).toEqual(expected.map((path) => `16 ${path} redis_password_in_plain_text`));
  });
});

/** The place, the code and the text of each warning. */
async function warningsOf(folder: ConfigFolder, yaml: string, around = {}): Promise<string[]> {
  const loaded = await folder.loadSound(yaml, around);
  expect(JSON.stringify(loaded.warnings)).not.toContain("canary");
  return located(loaded.warnings).map(
    ({ path, line, code, message, fix }) => `${line} ${path} ${code}: ${message}; ${fix}`,
  );
}

async function codesOf(folder: ConfigFolder, yaml: string, around = {}): Promise<string[]> {
  return (await warningsOf(folder, yaml, around)).map((warning) => warning.replace(/:.*/s, ""));
}

async function ofSecret(secret: string, mode?: number, folder = new ConfigFolder()) {
  folder.write("blue/client-secret", secret, mode);
  return warningsOf(folder, quiet);
}
