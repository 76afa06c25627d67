/** Row 72: settings with which no authorization server could give a token, or with which a credential would go astray. */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { clientCertificate, clientKey, serverKey } from "../../../testkit/certificates.ts";
import { ConfigFolder, edited, production } from "../../../testkit/config-folder.ts";
import { authUrl, blue, fault, instead, itRefuses, operations, site1, withSet } from "./refusal.ts";

const url = "https://login.sandbox.example/oauth2/token";
const set = `${site1}.credentials[0]`;

const pem = (key: { export(options: { type: "pkcs8"; format: "pem" }): string | Buffer }) =>
  String(key.export({ type: "pkcs8", format: "pem" }));
const shortRsaKey = pem(generateKeyPairSync("rsa", { modulusLength: 1_024 }).privateKey);
const agreementKey = pem(generateKeyPairSync("x25519").privateKey);
const publicKey = String(generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }));

/** The environment's `token`, in place of its authUrl. */
const withToken = (settings: string) => instead(authUrl, `token: { ${settings} }`);
/** The environment's `token` beside it. */
const besideAuthUrl = (settings: string) => edited([authUrl, `${authUrl}    token: { ${settings} } # here\n`]);
/** One set with these settings. */
const withOne = (settings: string) => withSet(`name: one, clientId: one-id, ${settings}`);
const keyFile = "privateKey: { file: DIR/key }";
const byKey = (more = "") => withOne(`${keyFile}, audience: a, token: { clientAuth: private_key_jwt${more} }`);

const bare = "          - { name: one, clientId: one-id, audience: a }\n";
const certificate = "    tls: { certFile: DIR/cert, keyFile: DIR/cert-key }\n";
const files = { cert: clientCertificate, "cert-key": clientKey };

const inPlaceOfAuthUrl = (settings: string, said: string) => fault(withToken(settings), `.token.${said}`);
const wrong = (settings: string, said: string) => fault(besideAuthUrl(settings), `.token.${said}`);
const ofSet = (settings: string, said: string, files = {}) => fault(withOne(settings), `${set}.${said}`, files);
const ofKey = (more: string, said: string, files: Record<string, string>) =>
  fault(byKey(more), `${set}.privateKey: ${said}`, files);

itRefuses("token settings that cannot work", [
  fault(
    edited([authUrl, `    authUrl: https://login.sandbox.example # here\n    token: { url: "${url}" }\n`]),
    ".authUrl: authUrl and token.url both say where tokens come from … keep one",
  ),
  inPlaceOfAuthUrl(
    'url: "https://api.sandbox.example/oauth2/token"',
    "url: same origin … another host than the JSON API",
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
  wrong("clientAuth: client_secret_basic", "clientAuth: not known … post or basic or private_key_jwt or tls"),
  wrong("clientAuth: { assertion: canary }", "clientAuth.assertion: must be a mapping … write a mapping"),
  ofSet(
    "audience: a, clientSecret: { file: DIR/green }, token: { clientAuth: { assertion: { file: DIR/a } } }",
    "clientSecret: clientSecret does not go with clientAuth assertion … remove it",
  ),
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
  fault(
    withOne("audience: a, clientSecret: { file: DIR/green }, token: { clientAuth: tls }").replace(
      operations,
      `${operations}${certificate}`,
    ),
    `${set}.clientSecret: clientSecret does not go with clientAuth tls … remove it`,
    files,
  ),
  ofSet(
    `${keyFile}, clientSecret: { file: DIR/green }, audience: a, token: { clientAuth: private_key_jwt }`,
    "clientSecret: does not go with clientAuth private_key_jwt … remove it",
    { key: clientKey },
  ),
  ofSet(
    `${keyFile}, clientSecret: { file: DIR/green }, audience: a`,
    "privateKey: does not go with clientAuth post … clientAuth private_key_jwt",
  ),
  ofSet(
    "audience: a, token: { clientAuth: private_key_jwt }",
    "privateKey: privateKey is missing … privateKey: { file: /path }",
  ),
  fault(
    withSet("name: blue, dir: DIR/blue, token: { clientAuth: private_key_jwt }"),
    `${set}.dir: ENOENT … create the file`,
  ),
  ofSet(
    'privateKey: "canary-key", audience: a, token: { clientAuth: private_key_jwt }',
    "privateKey: never written into the configuration … { file: ",
  ),
  ...["canary that is no key", '{"kty":"EC","crv":"P-256","d":"canary', publicKey].map((key) =>
    ofKey("", "no private key … PEM without a passphrase, or as a JWK", { key }),
  ),
  ...[shortRsaKey, agreementKey].map((key) => ofKey("", "no assertion can be signed … 2048 bits", { key })),
  ofKey(", assertion: { algorithm: RS256 }", "cannot sign with RS256 … write ES256", {
    key: clientKey,
  }),
  ofKey(", assertion: { certFile: DIR/cert }", "not the certificate's … assertion.certFile", {
    key: serverKey,
    cert: clientCertificate,
  }),
  ofKey(", assertion: { certFile: DIR/cert }", "no certificate in PEM … PEM file", {
    key: clientKey,
    cert: "canary",
  }),
  wrong("assertion: { keyId: k }", "assertion: private_key_jwt alone … remove it"),
  ...["grant_type", "client_id", "client_secret", "client_assertion"].map((name) =>
    wrong(`extra: { ${name}: canary }`, `extra.${name}: not among the further fields … remove it`),
  ),
  wrong("extra: { scope: canary }", "extra.scope: not among the further fields … write token.scope"),
  wrong("extra: { tenant: 7 }", "extra.tenant: must be a text … write a text"),
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

  test("may not have one client there", async () => {
    const problems = await new ConfigFolder().problemsOf(`${first}${other.replace("main-id", "blue-id")}`);
    expect(problems.map(({ message }) => message)).toEqual(["the client id is also environment sandbox's"]);
  });
});
