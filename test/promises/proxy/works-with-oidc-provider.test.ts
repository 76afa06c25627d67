/** A certified authorization server (oidc-provider) accepts each way to prove a client. */
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer, request as httpsRequest } from "node:https";
import type { TLSSocket } from "node:tls";
import { createLocalJWKSet, jwtVerify } from "jose";
import Provider from "oidc-provider";
import { expect, it, vi } from "vitest";
import { call } from "../../../testkit/call.ts";
import {
  authority,
  clientCertificate,
  clientKey,
  rsaCertificate,
  rsaKey,
  serverTls,
} from "../../../testkit/certificates.ts";
import { startConfiguredProxy } from "../../../testkit/configured-proxy.ts";
import { listen } from "../../../testkit/listen.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";

const api = "https://orders.example";
const secret = "canary secret:of+a/real=server%&";
const clientJwk = new X509Certificate(clientCertificate).publicKey.export({ format: "jwk" });
const rsaJwk = new X509Certificate(rsaCertificate).publicKey.export({ format: "jwk" });
const certificateJwk = { ...clientJwk, x5c: [new X509Certificate(clientCertificate).raw.toString("base64")] };

const clients = [
  client("by-post", "client_secret_post", { client_secret: secret }),
  client("by-basic:&+%", "client_secret_basic", { client_secret: secret }),
  client("by-ec-key", "private_key_jwt", { jwks: { keys: [clientJwk] } }),
  client("by-rsa-key", "private_key_jwt", { jwks: { keys: [rsaJwk] }, token_endpoint_auth_signing_alg: "PS256" }),
  client("by-certificate", "self_signed_tls_client_auth", {
    jwks: { keys: [certificateJwk] },
    tls_client_certificate_bound_access_tokens: true,
  }),
];

/** Hides oidc-provider's warnings, which are about production. */
vi.spyOn(console, "warn").mockImplementation(() => {});

const bySecret = { clientSecret: { file: "DIR/secret" } };
const tlsFiles = { certFile: "DIR/cert.pem", keyFile: "DIR/key.pem" };

it.each([
  { id: "by-post", set: bySecret, token: {} },
  { id: "by-basic:&+%", set: bySecret, token: { clientAuth: "basic" } },
  { id: "by-ec-key", set: { privateKey: { file: "DIR/key.pem" } }, token: { clientAuth: "private_key_jwt" } },
  {
    id: "by-ec-key",
    set: { privateKey: { file: "DIR/key.pem" } },
    token: { clientAuth: "private_key_jwt", issuer: "ISSUER", assertion: { typ: "client-authentication+jwt" } },
    isStrict: true,
  },
  {
    id: "by-rsa-key",
    set: { privateKey: { file: "DIR/rsa.pem" } },
    token: { clientAuth: "private_key_jwt", assertion: { algorithm: "PS256" } },
  },
  { id: "by-certificate", set: {}, token: { clientAuth: "tls" }, tls: tlsFiles },
])(
  "gives the client $id a token that its keys verify, strict: $isStrict",
  async ({ id, set, token, tls = {}, isStrict }) => {
    const { issuer, errors } = await startProvider(isStrict);
    const service = await startRawUpstream({ answer: rawAnswer(200, "{}") });
    const { url } = await startConfiguredProxy(
      {
        baseUrl: service.url,
        tls: { caFile: "DIR/authority.pem", ...tls },
        token: {
          url: `${issuer}/token`,
          scope: "orders",
          resource: api,
          ...token,
          ...("issuer" in token && { issuer }),
        },
        sites: { S1: { credentials: [{ name: "one", clientId: id, ...set }] } },
      },
      { secret, "cert.pem": clientCertificate, "key.pem": clientKey, "rsa.pem": rsaKey },
    );
    expect([(await call(url)).status, ...errors]).toEqual([200]);
    const [, sent = ""] = /\r\nauthorization: Bearer ([\w.-]+)/.exec(service.requests[0]?.head ?? "") ?? [];
    const { payload } = await jwtVerify(sent, await fetchKeys(issuer), { issuer, audience: api });
    expect(payload).toMatchObject({ client_id: id, sub: id, scope: "orders" });
    expect(Number(payload.exp) - Number(payload.iat)).toBe(600);
    const thumbprint = new X509Certificate(clientCertificate).fingerprint256.replaceAll(":", "");
    const bound = { "x5t#S256": Buffer.from(thumbprint, "hex").toString("base64url") };
    expect(payload["cnf"]).toEqual(id === "by-certificate" ? bound : undefined);
  },
);

function client(id: string, method: string, more: object = {}) {
  return {
    client_id: id,
    token_endpoint_auth_method: method,
    grant_types: ["client_credentials"],
    response_types: [],
    redirect_uris: [],
    scope: "orders",
    ...more,
  };
}

/** @param isStrict follows FAPI 2.0: the issuer must be the only audience of an assertion */
async function startProvider(isStrict = false) {
  const server = createServer({ ...serverTls, requestCert: true, rejectUnauthorized: false });
  const port = await listen(server);
  const issuer = `https://localhost:${port}`;
  const resourceServer = { scope: "orders", audience: api, accessTokenFormat: "jwt", accessTokenTTL: 600 };
  const provider = new Provider(issuer, {
    clients,
    scopes: ["orders"],
    ttl: { ClientCredentials: 600 },
    clientAuthMethods: ["client_secret_post", "client_secret_basic", "private_key_jwt", "self_signed_tls_client_auth"],
    enabledJWA: { clientAuthSigningAlgValues: ["PS256", "ES256"] },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      fapi: { enabled: isStrict, profile: "2.0" },
      mTLS: {
        enabled: true,
        certificateBoundAccessTokens: true,
        selfSignedTlsClientAuth: true,
        getCertificate: ({ req }: { req: { socket: TLSSocket } }) => req.socket.getPeerX509Certificate(),
      },
      resourceIndicators: { enabled: true, getResourceServerInfo: () => resourceServer },
    },
  });
  const errors: string[] = [];
  provider.on("grant.error", (_context, error) => errors.push(`${error.message} ${JSON.stringify(error)}`));
  server.on("request", provider.callback());
  return { issuer, errors };
}

/** The keys with which the server signs its tokens. */
async function fetchKeys(issuer: string) {
  const [response] = await once(httpsRequest(`${issuer}/jwks`, { ca: authority }).end(), "response");
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return createLocalJWKSet(JSON.parse(Buffer.concat(chunks).toString("utf8")));
}
