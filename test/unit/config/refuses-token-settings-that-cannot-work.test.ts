/** Row 72: settings with which no authorization server could give a token, or with which a credential would go astray. */
import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { clientCertificate, clientKey, serverKey } from "../../../testkit/certificates.ts";
import { ConfigFolder, edited, production } from "../../../testkit/config-folder.ts";
import { blue, inSandbox, instead, itRefuses, type Refusal, site1 } from "./refusal.ts";

const authUrl = "    authUrl: https://login.sandbox.example\n";
const url = "https://login.sandbox.example/oauth2/token";
const environment = "environments.sandbox";
const set = `${site1}.credentials[0]`;

const pem = (key: { export(options: { type: "pkcs8"; format: "pem" }): string | Buffer }) =>
  String(key.export({ type: "pkcs8", format: "pem" }));
const shortKey = pem(generateKeyPairSync("rsa", { modulusLength: 1_024 }).privateKey);
const agreementKey = pem(generateKeyPairSync("x25519").privateKey);
const publicKey = String(generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }));

/** The environment's `token`, in place of its authUrl. */
const withToken = (settings: string) => edited([authUrl, `    token: { ${settings} } # here\n`]);
/** One set with these settings. */
const withSet = (settings: string) => instead(blue, `          - { name: one, clientId: one-id, ${settings} } # here`);
const keyFile = "privateKey: { file: DIR/key }";
const byKey = (more = "") => withSet(`${keyFile}, audience: a, token: { clientAuth: private_key_jwt${more} }`);

const settings: readonly Refusal[] = [
  {
    what: "an authUrl beside a token endpoint",
    yaml: edited([authUrl, `    authUrl: https://login.sandbox.example # here\n    token: { url: "${url}" }\n`]),
    path: `${environment}.authUrl`,
    message: /^authUrl and token\.url both say where tokens come from$/,
    fix: /keep one/,
  },
  {
    what: "a token endpoint on the JSON API's host",
    yaml: withToken('url: "https://api.sandbox.example/oauth2/token"'),
    path: `${environment}.token.url`,
    message: /same origin/,
    fix: /another host than the JSON API/,
  },
  {
    what: "a token endpoint of another environment's host",
    yaml: `${withToken('url: "https://api.example/oauth2/token"')}${production}`,
    path: `${environment}.token.url`,
    message: /the origin is also environment production's/,
    fix: /share no host/,
  },
  {
    what: "a token endpoint in plain text",
    yaml: withToken('url: "http://login.sandbox.example/oauth2/token"'),
    path: `${environment}.token.url`,
    message: /plain text/,
    fix: /allowPlaintext/,
  },
  {
    what: "a host in place of a token endpoint",
    yaml: withToken('url: "https://login.sandbox.example"'),
    path: `${environment}.token.url`,
    message: /./,
    fix: /whole address of the token endpoint, like https:\/\/login\.sandbox\.example\/oauth2\/token/,
  },
  {
    what: "a way to prove the client that is not known",
    yaml: edited([authUrl, `${authUrl}    token: { clientAuth: client_secret_basic } # here\n`]),
    path: `${environment}.token.clientAuth`,
    message: /not known/,
    fix: /post or basic or private_key_jwt or tls/,
  },
  {
    what: "clientAuth tls without a client certificate",
    yaml: edited(
      [authUrl, `${authUrl}    token: { clientAuth: tls } # here\n`],
      [blue, "          - { name: one, clientId: one-id, audience: a }\n"],
    ),
    path: `${environment}.token.clientAuth`,
    message: /client certificate/,
    fix: /certFile and keyFile/,
  },
  {
    what: "clientAuth tls over http",
    yaml: edited(
      [authUrl, "    authUrl: http://login.sandbox.example\n    token: { clientAuth: tls } # here\n"],
      [inSandbox, `${inSandbox}    allowPlaintext: true\n    tls: { certFile: DIR/cert, keyFile: DIR/cert-key }\n`],
      [blue, "          - { name: one, clientId: one-id, audience: a }\n"],
    ),
    files: { cert: clientCertificate, "cert-key": clientKey },
    path: `${environment}.token.clientAuth`,
    message: /http:\/\/ shows no client certificate/,
    fix: /https/,
  },
  {
    what: "a client secret with clientAuth tls",
    yaml: edited(
      [inSandbox, `${inSandbox}    tls: { certFile: DIR/cert, keyFile: DIR/cert-key }\n`],
      [
        blue,
        "          - { name: one, clientId: one-id, audience: a, clientSecret: { file: DIR/green }, token: { clientAuth: tls } } # here\n",
      ],
    ),
    files: { cert: clientCertificate, "cert-key": clientKey },
    path: `${set}.clientSecret`,
    message: /^clientSecret does not go with clientAuth tls$/,
    fix: /remove it/,
  },
  {
    what: "a client secret beside a key",
    yaml: withSet(`${keyFile}, clientSecret: { file: DIR/green }, audience: a, token: { clientAuth: private_key_jwt }`),
    files: { key: clientKey },
    path: `${set}.clientSecret`,
    message: /does not go with clientAuth private_key_jwt/,
    fix: /remove it/,
  },
  {
    what: "a key where a secret is sent",
    yaml: withSet(`${keyFile}, clientSecret: { file: DIR/green }, audience: a`),
    path: `${set}.privateKey`,
    message: /does not go with clientAuth post/,
    fix: /clientAuth private_key_jwt/,
  },
  {
    what: "private_key_jwt without a key",
    yaml: withSet("audience: a, token: { clientAuth: private_key_jwt }"),
    path: `${set}.privateKey`,
    message: /^privateKey is missing$/,
    fix: /privateKey: \{ file: \/path \}/,
  },
  {
    what: "private_key_jwt with a folder that holds no key",
    yaml: instead(blue, "          - { name: blue, dir: DIR/blue, token: { clientAuth: private_key_jwt } } # here"),
    path: `${set}.dir`,
    message: /ENOENT/,
    fix: /create the file/,
  },
  {
    what: "a key written out",
    yaml: withSet('privateKey: "canary-key", audience: a, token: { clientAuth: private_key_jwt }'),
    path: `${set}.privateKey`,
    message: /never written into the configuration/,
    fix: /\{ file: /,
  },
  ...[
    ["no key at all", "canary that is no key"],
    ["half a JWK", '{"kty":"EC","crv":"P-256","d":"canary'],
    ["a public key", publicKey],
  ].map(([what = "", key = ""]) => ({
    what: `a key file with ${what}`,
    yaml: byKey(),
    files: { key },
    path: `${set}.privateKey`,
    message: /no private key/,
    fix: /PEM without a passphrase, or as a JWK/,
  })),
  ...[
    ["an RSA key of 1024 bits", shortKey],
    ["a key for key agreement", agreementKey],
  ].map(([what = "", key = ""]) => ({
    what,
    yaml: byKey(),
    files: { key },
    path: `${set}.privateKey`,
    message: /no assertion can be signed/,
    fix: /2048 bits/,
  })),
  {
    what: "an algorithm that the key cannot do",
    yaml: byKey(", assertion: { algorithm: RS256 }"),
    files: { key: clientKey },
    path: `${set}.privateKey`,
    message: /cannot sign with RS256/,
    fix: /write ES256/,
  },
  {
    what: "an assertion's certificate of another key",
    yaml: byKey(", assertion: { certFile: DIR/cert }"),
    files: { key: serverKey, cert: clientCertificate },
    path: `${set}.privateKey`,
    message: /not the certificate's/,
    fix: /assertion\.certFile/,
  },
  {
    what: "an assertion's certificate that is none",
    yaml: byKey(", assertion: { certFile: DIR/cert }"),
    files: { key: clientKey, cert: "canary" },
    path: `${set}.privateKey`,
    message: /no certificate in PEM/,
    fix: /PEM file/,
  },
  {
    what: "settings of an assertion where none is sent",
    yaml: edited([authUrl, `${authUrl}    token: { assertion: { keyId: k } } # here\n`]),
    path: `${environment}.token.assertion`,
    message: /private_key_jwt alone/,
    fix: /remove it/,
  },
  ...["grant_type", "client_id", "client_secret", "client_assertion"].map((name) => ({
    what: `${name} as a further field`,
    yaml: edited([authUrl, `${authUrl}    token: { extra: { ${name}: canary } } # here\n`]),
    path: `${environment}.token.extra.${name}`,
    message: /not among the further fields/,
    fix: /remove it/,
  })),
  {
    what: "a scope as a further field",
    yaml: edited([authUrl, `${authUrl}    token: { extra: { scope: canary } } # here\n`]),
    path: `${environment}.token.extra.scope`,
    message: /not among the further fields/,
    fix: /^write token\.scope$/,
  },
  {
    what: "a further field that is no text",
    yaml: edited([authUrl, `${authUrl}    token: { extra: { tenant: 7 } } # here\n`]),
    path: `${environment}.token.extra.tenant`,
    message: /must be a text/,
    fix: /write a text/,
  },
  {
    what: "two spaces in a scope",
    yaml: edited([authUrl, `${authUrl}    token: { scope: "a  b" } # here\n`]),
    path: `${environment}.token.scope`,
    message: /right form/,
    fix: /one space/,
  },
  {
    what: "a lifetime beyond what a token is trusted for",
    yaml: edited([authUrl, `${authUrl}    token: { lifetime: 169h } # here\n`]),
    path: `${environment}.token.lifetime`,
    message: /more than/,
    fix: /604800s/,
  },
  {
    what: "no audience, where the service's own authorization server is asked",
    yaml: withSet("clientSecret: { file: DIR/green }, token: { scope: orders }"),
    path: `${set}.audience`,
    message: /^audience is missing$/,
    fix: /add a text/,
  },
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
