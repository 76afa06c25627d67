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
const shortKey = pem(generateKeyPairSync("rsa", { modulusLength: 1_024 }).privateKey);
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

const settings = [
  fault(
    "an authUrl beside a token endpoint",
    edited([authUrl, `    authUrl: https://login.sandbox.example # here\n    token: { url: "${url}" }\n`]),
    [".authUrl", /^authUrl and token\.url both say where tokens come from$/, /keep one/],
  ),
  fault("a token endpoint on the JSON API's host", withToken('url: "https://api.sandbox.example/oauth2/token"'), [
    ".token.url",
    /same origin/,
    /another host than the JSON API/,
  ]),
  fault(
    "a token endpoint of another environment's host",
    `${withToken('url: "https://api.example/oauth2/token"')}${production}`,
    [".token.url", /the origin is also environment production's/, /share no host/],
  ),
  fault("a token endpoint in plain text", withToken('url: "http://login.sandbox.example/oauth2/token"'), [
    ".token.url",
    /plain text/,
    /allowPlaintext/,
  ]),
  fault("a host in place of a token endpoint", withToken('url: "https://login.sandbox.example"'), [
    ".token.url",
    /./,
    /whole address of the token endpoint, like https:\/\/login\.sandbox\.example\/oauth2\/token/,
  ]),
  fault("a way to prove the client that is not known", besideAuthUrl(`clientAuth: client_secret_basic`), [
    ".token.clientAuth",
    /not known/,
    /post or basic or private_key_jwt or tls/,
  ]),
  fault("a token of the platform's written out", besideAuthUrl(`clientAuth: { assertion: canary }`), [
    ".token.clientAuth.assertion",
    /must be a mapping/,
    /^write a mapping/,
  ]),
  fault(
    "a client secret beside an assertion's file",
    withOne("audience: a, clientSecret: { file: DIR/green }, token: { clientAuth: { assertion: { file: DIR/a } } }"),
    [`${set}.clientSecret`, /^clientSecret does not go with clientAuth assertion$/, /remove it/],
  ),
  fault(
    "clientAuth tls without a client certificate",
    edited([authUrl, `${authUrl}    token: { clientAuth: tls } # here\n`], [blue, bare]),
    [".token.clientAuth", /client certificate/, /certFile and keyFile/],
  ),
  fault(
    "clientAuth tls over http",
    edited(
      [authUrl, "    authUrl: http://login.sandbox.example\n    token: { clientAuth: tls } # here\n"],
      [operations, `${operations}    allowPlaintext: true\n${certificate}`],
      [blue, bare],
    ),
    [".token.clientAuth", /http:\/\/ shows no client certificate/, /https/],
    { files },
  ),
  fault(
    "a client secret with clientAuth tls",
    withOne("audience: a, clientSecret: { file: DIR/green }, token: { clientAuth: tls }").replace(
      operations,
      `${operations}${certificate}`,
    ),
    [`${set}.clientSecret`, /^clientSecret does not go with clientAuth tls$/, /remove it/],
    { files },
  ),
  fault(
    "a client secret beside a key",
    withOne(`${keyFile}, clientSecret: { file: DIR/green }, audience: a, token: { clientAuth: private_key_jwt }`),
    [`${set}.clientSecret`, /does not go with clientAuth private_key_jwt/, /remove it/],
    { files: { key: clientKey } },
  ),
  fault("a key where a secret is sent", withOne(`${keyFile}, clientSecret: { file: DIR/green }, audience: a`), [
    `${set}.privateKey`,
    /does not go with clientAuth post/,
    /clientAuth private_key_jwt/,
  ]),
  fault("private_key_jwt without a key", withOne("audience: a, token: { clientAuth: private_key_jwt }"), [
    `${set}.privateKey`,
    /^privateKey is missing$/,
    /privateKey: \{ file: \/path \}/,
  ]),
  fault(
    "private_key_jwt with a folder that holds no key",
    withSet("name: blue, dir: DIR/blue, token: { clientAuth: private_key_jwt }"),
    [`${set}.dir`, /ENOENT/, /create the file/],
  ),
  fault("a key written out", withOne('privateKey: "canary-key", audience: a, token: { clientAuth: private_key_jwt }'), [
    `${set}.privateKey`,
    /never written into the configuration/,
    /\{ file: /,
  ]),
  ...[
    ["no key at all", "canary that is no key"],
    ["half a JWK", '{"kty":"EC","crv":"P-256","d":"canary'],
    ["a public key", publicKey],
  ].map(([what = "", key = ""]) =>
    fault(
      `a key file with ${what}`,
      byKey(),
      [`${set}.privateKey`, /no private key/, /PEM without a passphrase, or as a JWK/],
      { files: { key } },
    ),
  ),
  ...[
    ["an RSA key of 1024 bits", shortKey],
    ["a key for key agreement", agreementKey],
  ].map(([what = "", key = ""]) =>
    fault(what, byKey(), [`${set}.privateKey`, /no assertion can be signed/, /2048 bits/], { files: { key } }),
  ),
  fault(
    "an algorithm that the key cannot do",
    byKey(", assertion: { algorithm: RS256 }"),
    [`${set}.privateKey`, /cannot sign with RS256/, /write ES256/],
    { files: { key: clientKey } },
  ),
  fault(
    "an assertion's certificate of another key",
    byKey(", assertion: { certFile: DIR/cert }"),
    [`${set}.privateKey`, /not the certificate's/, /assertion\.certFile/],
    { files: { key: serverKey, cert: clientCertificate } },
  ),
  fault(
    "an assertion's certificate that is none",
    byKey(", assertion: { certFile: DIR/cert }"),
    [`${set}.privateKey`, /no certificate in PEM/, /PEM file/],
    { files: { key: clientKey, cert: "canary" } },
  ),
  fault("settings of an assertion where none is sent", besideAuthUrl(`assertion: { keyId: k }`), [
    ".token.assertion",
    /private_key_jwt alone/,
    /remove it/,
  ]),
  ...["grant_type", "client_id", "client_secret", "client_assertion"].map((name) =>
    fault(`${name} as a further field`, besideAuthUrl(`extra: { ${name}: canary }`), [
      `.token.extra.${name}`,
      /not among the further fields/,
      /remove it/,
    ]),
  ),
  fault("a scope as a further field", besideAuthUrl(`extra: { scope: canary }`), [
    ".token.extra.scope",
    /not among the further fields/,
    /^write token\.scope$/,
  ]),
  fault("a further field that is no text", besideAuthUrl(`extra: { tenant: 7 }`), [
    ".token.extra.tenant",
    /must be a text/,
    /write a text/,
  ]),
  fault("two spaces in a scope", besideAuthUrl(`scope: "a  b"`), [".token.scope", /right form/, /one space/]),
  fault("a lifetime beyond what a token is trusted for", besideAuthUrl(`lifetime: 169h`), [
    ".token.lifetime",
    /more than/,
    /168h/,
  ]),
  fault(
    "no audience, where the service's own authorization server is asked",
    withOne("clientSecret: { file: DIR/green }, token: { scope: orders }"),
    [`${set}.audience`, /^audience is missing$/, /add a text/],
  ),
];

itRefuses("token settings that cannot work", settings);

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
