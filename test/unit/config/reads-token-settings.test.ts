/**
 * Which setting has priority, and which settings are refused because no authorization server could issue a token with
 * them, or because a credential would reach the wrong server.
 */
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type CredentialSet, credentialSetsOf, tokenUrlOf } from "../../../src/model/environment.ts";
import { clientCertificate, clientKey, serverKey } from "../../../testkit/certificates.ts";
import { ConfigFolder, edited, production } from "../../../testkit/config-folder.ts";
import { authUrl, blue, fault, instead, itRefuses, operations, site1, withSet } from "./refusal.ts";

const files = {
  ...{ "bare/client-id": "bare-id", "bare/client-secret": "canary-of-good-length", "lone/client-id": "lone-id" },
  ...{ "keyed/client-id": "keyed-id", "keyed/private-key": clientKey, "keyed/audience": "a" },
  ...{ cert: clientCertificate, "cert-key": clientKey },
};
const certificate = "    tls: { certFile: DIR/cert, keyFile: DIR/cert-key }\n";

const secret = "clientSecret: { file: DIR/green }";

describe("token settings", () => {
  test("are absent if none are written", async () => {
    const { sets } = await load("authUrl: https://login.sandbox.example", "name: blue, dir: DIR/blue");
    expect(sets).toMatchObject([{ token: undefined, url: "https://login.sandbox.example/oauth/token" }]);
  });

  test("of a set replace the environment's key by key; if each set has a url, no authUrl is needed", async () => {
    const one = `name: one, clientId: a, ${secret}, token: { url: "https://one.example/t", scope: c, extra: { z: "1" } }`;
    const two = 'name: two, clientId: b, clientSecret: { file: DIR/main }, token: { url: "https://two.example/t/" }';
    const { sets } = await load("token: { scope: a b, body: json, extra: { x: y } }", one, two);
    expect(sets).toMatchObject([
      { url: "https://one.example/t", token: { scope: "c", body: "json", extra: { z: "1" } } },
      { url: "https://two.example/t/", token: { scope: "a b", body: "json", extra: { x: "y" } } },
    ]);
  });
});

test("of a library inside the API's own application may come from the API's origin: a warning that can be acknowledged", async () => {
  const folder = new ConfigFolder(files);
  const text = edited([authUrl, '    token: { url: "https://api.sandbox.example/oauth/token?v=1" }\n']);
  const warned = await folder.loadSound(text);
  expect(warned.warnings.map(({ code }) => code)).toContain("tokens_from_the_api");
  const { warnings } = await folder.loadSound(`${text}acknowledge: [tokens_from_the_api]\n`);
  expect(warnings.map(({ code }) => code)).not.toContain("tokens_from_the_api");
});

describe("the audience", () => {
  const token = (more = "") => `token: { url: "https://login.example/token"${more} }`;

  test.each([
    ["may be left out with an endpoint", token(), `name: a, clientId: a, ${secret}`, undefined],
    ["is that of the settings", token(", audience: all"), `name: a, clientId: a, ${secret}`, "all"],
    [
      "of a set has priority over the settings'",
      token(", audience: all"),
      `name: a, clientId: a, ${secret}, audience: own`,
      "own",
    ],
    [
      "of a folder has priority over the settings'",
      token(", audience: all"),
      "name: a, dir: DIR/blue",
      "https://api.sandbox.example",
    ],
    ["need not be in a folder", token(), "name: a, dir: DIR/bare", undefined],
  ])("%s", async (_, environment, set, audience) => {
    const { sets } = await load(environment, set);
    expect(sets.map((each) => each.audience)).toEqual([audience]);
  });

  test("that is added to a folder later is noticed, since its file is watched", async () => {
    const { files, folder } = await load(token(), "name: a, dir: DIR/bare");
    expect([...files.keys()]).toContain(`${folder.path}/bare/audience`);
  });
});

const byKeys = "authUrl: https://login.sandbox.example\n    token: { clientAuth: private_key_jwt }";

test("a folder's key is in its file private-key", async () => {
  const { sets } = await load(byKeys, "name: a, dir: DIR/keyed");
  const audience = "https://login.sandbox.example/oauth/token";
  expect(sets).toMatchObject([
    {
      clientSecret: undefined,
      token: { clientAuth: { method: "private_key_jwt", algorithm: "ES256", audience }, certificate: undefined },
    },
  ]);
});

test("each method of client authentication has the environment's certificate, since a server may bind tokens to it", async () => {
  const { sets } = await load(`${byKeys}\n${certificate}`, "name: a, dir: DIR/keyed");
  const { fingerprint256 } = new X509Certificate(clientCertificate);
  expect(sets).toMatchObject([{ token: { clientAuth: { method: "private_key_jwt" }, certificate: fingerprint256 } }]);
});

describe("an assertion's file", () => {
  const environment = 'token: { url: "https://login.example/token", clientAuth: { assertion: { file: run/token } } }';
  const set = "name: a, clientId: system:serviceaccount:payments:countersign";

  test("has a path relative to the configuration's folder, and may be missing at the start", async () => {
    const { sets, files, folder } = await load(environment, set);
    const file = `${folder.path}/run/token`;
    expect(sets).toMatchObject([{ clientSecret: undefined, token: { clientAuth: { method: "assertion", file } } }]);
    expect([...files.keys()]).not.toContain(file);
  });

  test("is not looked for in the set's folder", async () => {
    const { sets } = await load(environment, "name: a, dir: DIR/lone");
    expect(sets).toMatchObject([{ clientId: "lone-id", clientSecret: undefined }]);
  });

  test("is warned about if the file itself is a mount, so that it would never be renewed", async () => {
    const folder = new ConfigFolder();
    const mountPoints = new Set([`${folder.path}/run/token`]);
    const yaml = edited([authUrl, `    ${environment}\n`], [blue, `          - { ${set} }\n`]);
    const { warnings } = await folder.loadSound(yaml, { mountPoints });
    const [{ path = [] } = {}] = warnings.filter(({ code }) => code === "mounted_by_subpath");
    expect(path.join(".")).toBe("environments.sandbox.token.clientAuth.assertion.file");
  });
});

const pem = (key: { export(options: { type: "pkcs8"; format: "pem" }): string | Buffer }) =>
  String(key.export({ type: "pkcs8", format: "pem" }));
const shortRsaKey = pem(generateKeyPairSync("rsa", { modulusLength: 1_024 }).privateKey);
const agreementKey = pem(generateKeyPairSync("x25519").privateKey);
const publicKey = String(generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }));

/** The environment's `token` instead of its authUrl. */
const withToken = (settings: string) => instead(authUrl, `token: { ${settings} }`);
const inPlaceOfAuthUrl = (settings: string, said: string) => fault(withToken(settings), `.token.${said}`);
/** The environment's `token` in addition to its authUrl. */
const wrong = (settings: string, said: string) =>
  fault(edited([authUrl, `${authUrl}    token: { ${settings} } # here\n`]), `.token.${said}`);
/** One set with these settings. */
const withOne = (settings: string) => withSet(`name: one, clientId: one-id, ${settings}`);
const ofSet = (settings: string, said: string, files = {}) =>
  fault(withOne(settings), `${site1}.credentials[0].${said}`, files);
const byKey = "token: { clientAuth: private_key_jwt }";
const keyFile = "audience: a, privateKey: { file: DIR/key }";
const ofKey = (assertion: string, said: string, files: Record<string, string>) =>
  ofSet(`${keyFile}, token: { clientAuth: private_key_jwt${assertion} }`, `privateKey: ${said}`, files);
const withSecret = "audience: a, clientSecret: { file: DIR/green }";

const bare = "          - { name: one, clientId: one-id, audience: a }\n";

itRefuses("token settings that cannot work", [
  fault(
    edited([authUrl, '    authUrl: https://a.example # here\n    token: { url: "https://a.example/token" }\n']),
    ".authUrl: authUrl and token.url both say where tokens come from … keep one",
  ),
  fault(
    `${withToken('url: "https://api.example/oauth2/token"')}${production}`,
    ".token.url: the origin is also environment production's … share no host",
  ),
  inPlaceOfAuthUrl('url: "http://login.sandbox.example/oauth2/token"', "url: plain text … allowPlaintext"),
  inPlaceOfAuthUrl(
    'url: "https://login.sandbox.example"',
    "url: whole address of the token endpoint, like https://login.sandbox.example/oauth2/token",
  ),
  wrong(
    "clientAuth: client_secret_basic",
    "clientAuth: not known … post or basic or basic_raw or private_key_jwt or tls",
  ),
  inPlaceOfAuthUrl('url: "https://login.example/token?a=b c"', "url: write a query"),
  wrong("clientAuth: { assertion: canary }", "clientAuth.assertion: must be a mapping … write a mapping"),
  fault(
    edited([authUrl, `${authUrl}    token: { clientAuth: tls } # here\n`], [blue, bare]),
    ".token.clientAuth: client certificate … certFile and keyFile",
  ),
  fault(
    edited(
      [authUrl, "    authUrl: http://login.sandbox.example\n    token: { clientAuth: tls } # here\n"],
      [operations, `${operations}    allowPlaintext: true\n${certificate}`],
      [blue, bare],
    ),
    ".token.clientAuth: http:// shows no client certificate … https",
    files,
  ),
  ofSet(
    `${withSecret}, token: { clientAuth: { assertion: { file: DIR/a } } }`,
    "clientSecret: clientSecret does not go with clientAuth assertion … remove it",
  ),
  fault(
    withOne(`${withSecret}, token: { clientAuth: tls }`).replace(operations, `${operations}${certificate}`),
    `${site1}.credentials[0].clientSecret: clientSecret does not go with clientAuth tls … remove it`,
    files,
  ),
  ofSet(
    `${keyFile}, clientSecret: { file: DIR/green }, ${byKey}`,
    "clientSecret: does not go with clientAuth private_key_jwt … remove it",
    { key: clientKey },
  ),
  ofSet(
    `${withSecret}, privateKey: { file: DIR/key }`,
    "privateKey: does not go with clientAuth post … clientAuth private_key_jwt",
  ),
  ofSet(`audience: a, ${byKey}`, "privateKey: privateKey is missing … privateKey: { file: /path }"),
  fault(withSet(`name: blue, dir: DIR/blue, ${byKey}`), `${site1}.credentials[0].dir: ENOENT … create the file`),
  ofSet(
    `privateKey: "canary-key", audience: a, ${byKey}`,
    "privateKey: never written into the configuration … { file: ",
  ),
  ...["canary that is no key", '{"kty":"EC","crv":"P-256","d":"canary', publicKey].map((key) =>
    ofKey("", "no private key … PEM without a passphrase, or as a JWK", { key }),
  ),
  ...[shortRsaKey, agreementKey].map((key) => ofKey("", "no assertion can be signed … 2048 bits", { key })),
  ofKey(", assertion: { algorithm: RS256 }", "cannot sign with RS256 … write ES256", { key: clientKey }),
  ofKey(", assertion: { certFile: DIR/cert }", "not the certificate's … assertion.certFile", {
    key: serverKey,
    cert: clientCertificate,
  }),
  ofKey(", assertion: { certFile: DIR/k1 }", "no certificate in PEM … PEM file", { key: clientKey }),
  wrong("assertion: { keyId: k }", "assertion: private_key_jwt alone … remove it"),
  wrong("issuer: https://login.example", "issuer: private_key_jwt alone … remove it"),
  ...["login.example", "https://login.example/?a=b", "https://login.example/#a", "https://login.example /"].map(
    (issuer) => wrong(`clientAuth: private_key_jwt, issuer: "${issuer}"`, "issuer: "),
  ),
  wrong('clientAuth: private_key_jwt, assertion: { typ: "a b" }', "assertion.typ: "),
  wrong("clientAuth: { assertion: { file: a, type: jwt } }", "clientAuth.assertion.type: "),
  ...["grant_type", "client_id", "client_secret", "client_assertion"].map((name) =>
    wrong(`extra: { ${name}: canary }`, `extra.${name}: not among the further fields … remove it`),
  ),
  wrong("extra: { scope: canary }", "extra.scope: not among the further fields … write token.scope"),
  wrong("extra: { tenant: 7 }", 'extra.tenant: as a number … write it in quotes, like "shop"'),
  wrong(`scope: "a  b"`, "scope: right form … one space"),
  wrong("lifetime: 169h", "lifetime: more than … 168h"),
  ofSet("clientSecret: { file: DIR/green }, token: { scope: orders }", "audience: audience is missing … add a text"),
]);

describe("two environments", () => {
  const other = production
    .replace("    authUrl: https://login.example\n", '    token: { url: "https://login.example/tenant-2/token" }\n')
    .replace(', audience: "https://api.example"', "");
  const first = withToken('url: "https://login.example/tenant-1/token"');

  test("may have their clients at one authorization server", async () => {
    expect(await new ConfigFolder().problemsOf(`${first}${other}`)).toEqual([]);
  });

  test("may not share one client at that server", async () => {
    const problems = await new ConfigFolder().problemsOf(`${first}${other.replace("main-id", "blue-id")}`);
    expect(problems.map(({ message }) => message)).toEqual(["the client id is also environment sandbox's"]);
  });
});

async function load(environment: string, ...sets: readonly string[]) {
  const folder = new ConfigFolder(files);
  const lines = sets.map((set) => `          - { ${set} }\n`).join("");
  const loaded = await folder.loadSound(edited([authUrl, `    ${environment}\n`], [blue, lines]));
  const sandbox = loaded.config.environments.get("sandbox") ?? expect.unreachable();
  const urlOf = (set: CredentialSet) => `${tokenUrlOf(sandbox, set).origin}${tokenUrlOf(sandbox, set).path}`;
  const loadedSets = credentialSetsOf(sandbox).map(({ set }) => ({ ...set, url: urlOf(set) }));
  return { sets: loadedSets, files: loaded.files, folder };
}
