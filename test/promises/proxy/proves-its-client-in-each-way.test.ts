/** Spec 4.2: the bytes of token requests, for each `clientAuth`: a strict server of the test checks every byte. */
import { createPublicKey, generateKeyPairSync, type KeyObject, verify, X509Certificate } from "node:crypto";
import { createServer } from "node:https";
import type { TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { authority, clientCertificate, clientKey, serverTls } from "../../../testkit/certificates.ts";
import { startConfiguredProxy } from "../../../testkit/configured-proxy.ts";
import { listen } from "../../../testkit/listen.ts";
import { type RawRequest, rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { ask, audience, clientId, granted, one, post, secret, startLogin, startService } from "./token-endpoint.ts";

const form = "application/x-www-form-urlencoded";
/** As URLSearchParams encodes it, written out. */
const encodedId = "client%3Aof%2Fa%2Bserver";
const encodedSecret = "canary+client%3Asecret%2Bof%2Fa%3Dserver%25%26%C3%BC";
/** Servers that decode `%XX`, but not `+`, read a blank. */
const basicForm = Buffer.from(`${encodedId}:${encodedSecret.replace("+", "%20")}`).toString("base64");

describe("a token request", () => {
  it("has by default the service's own form, byte for byte", async () => {
    const { request, login } = await ask(undefined);
    const body =
      `grant_type=client_credentials&client_id=${encodedId}&client_secret=${encodedSecret}` +
      "&audience=https%3A%2F%2Fapi.example";
    expect(request.body).toBe(body);
    expect(request.head).toBe(headOf(login.port, "/oauth/token", form, body.length));
  });

  it("goes to no other host; the authorization server sees no order, and the service no secret", async () => {
    const [service, login] = [await startService(), await startLogin()];
    const authUrl = `${login.url}/tenant`;
    const written = { baseUrl: `${service.url}/json-api`, authUrl, sites: one(post) };
    const { url } = await startConfiguredProxy(written, { secret });
    const headers = { Authorization: "Bearer callers-own", Cookie: "a=b", "X-Request-Id": "r-1" };
    for (let n = 0; n < 5; n++) expect((await call(url, order, { headers })).status).toBe(200);
    const lineOf = ({ head }: RawRequest) => head.split("\r\n")[0];
    expect(service.requests.map(lineOf)).toEqual(Array(5).fill("POST /json-api/create_order HTTP/1.1"));
    expect(login.requests.map(lineOf)).toEqual(["POST /tenant/oauth/token HTTP/1.1"]);
    expect(login.requests[0]?.head).not.toMatch(/authorization|cookie|r-1/i);
    for (const { head, body } of service.requests) {
      expect(head).toContain("\r\nauthorization: Bearer abc.def\r\n");
      expect(head + body).not.toMatch(/canary.client/);
    }
  });

  it("has all settings as fields, and goes to the configured endpoint", async () => {
    const { request, login } = await ask({
      scope: "orders:write orders:read",
      resource: "https://orders.example/a",
      extra: { organization: "o 1", "x:y": "=" },
    });
    const body =
      `grant_type=client_credentials&client_id=${encodedId}&client_secret=${encodedSecret}` +
      "&audience=https%3A%2F%2Fapi.example&scope=orders%3Awrite+orders%3Aread&resource=https%3A%2F%2Forders.example%2Fa" +
      "&organization=o+1&x%3Ay=%3D";
    expect(request.body).toBe(body);
    expect(request.head).toBe(headOf(login.port, "/as/token", form, body.length));
  });

  it("keeps a slash at the end of the endpoint", async () => {
    const [service, login] = [await startService(), await startLogin()];
    const token = { url: `${login.url}/o/token/` };
    const { url } = await startConfiguredProxy({ baseUrl: service.url, token, sites: one(post) }, { secret });
    await call(url);
    expect(login.requests[0]?.head).toMatch(/^POST \/o\/token\/ HTTP\/1\.1\r\n/);
  });

  it("is JSON if `body` says so", async () => {
    const { request, login } = await ask({ body: "json", scope: "orders" });
    const fields = {
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: secret,
      audience,
      scope: "orders",
    };
    expect(JSON.parse(Buffer.from(request.body, "latin1").toString("utf8"))).toEqual(fields);
    expect(request.head).toBe(headOf(login.port, "/as/token", "application/json", request.body.length));
  });

  it("proves its client by HTTP Basic, form-encoded, and has no credentials in the body", async () => {
    const { request, login } = await ask({ clientAuth: "basic" });
    const body = "grant_type=client_credentials&audience=https%3A%2F%2Fapi.example";
    expect(request.body).toBe(body);
    const authorization = `authorization: Basic ${basicForm}\r\n`;
    expect(request.head).toBe(headOf(login.port, "/as/token", form, body.length, authorization));
  });

  it("proves its client by HTTP Basic as some servers read it, without encoding", async () => {
    const clientOf = (id: string) => ({ name: "one", clientId: id, clientSecret: { file: "DIR/secret" } });
    const { request } = await ask({ clientAuth: "basic_raw" }, clientOf("of/a server"));
    const credentials = /\r\nauthorization: Basic (\S+)/.exec(request.head)?.[1] ?? "";
    expect(Buffer.from(credentials, "base64").toString()).toBe(`of/a server:${secret}`);
  });

  it("goes to an address with a query as it is written", async () => {
    const [service, login] = [await startService(), await startLogin()];
    const token = { url: `${login.url}/as/token?tenant=a%20b&v=2` };
    const { url } = await startConfiguredProxy({ baseUrl: service.url, token, sites: one(post) }, { secret });
    expect((await call(url)).status).toBe(200);
    expect(login.requests[0]?.head).toMatch(/^POST \/as\/token\?tenant=a%20b&v=2 HTTP\/1\.1\r\n/);
  });

  it("obeys a 429 with x-retry-after alone", async () => {
    const login = await startRawUpstream({
      answer: (_, socket) => socket.end(rawAnswer(429, "", "X-Retry-After: 700\r\n")),
    });
    const token = { url: `${login.url}/token` };
    const { url } = await startConfiguredProxy({ baseUrl: login.url, token, sites: one(post) }, { secret });
    const answer = await call(url);
    expect(answer.status).toBe(503);
    expect(Number(answer.headers["retry-after"])).toBeGreaterThan(600);
  });
});

type Signed = { readonly header: Record<string, unknown>; readonly claims: Record<string, unknown> };

/** The assertion of a request, after its signature was verified without the package that made it. */
function verified({ body }: RawRequest, key: KeyObject, digest: string | undefined): Signed {
  const fields = Object.fromEntries(new URLSearchParams(body));
  const { client_assertion: assertion = "", ...others } = fields;
  expect(others).toEqual({
    grant_type: "client_credentials",
    client_id: clientId,
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    audience,
  });
  const [header = "", claims = "", signature = ""] = assertion.split(".");
  const isEllipticCurve = key.asymmetricKeyType === "ec";
  const by = isEllipticCurve ? ({ key, dsaEncoding: "ieee-p1363" } as const) : key;
  const isGenuine = verify(digest, Buffer.from(`${header}.${claims}`), by, Buffer.from(signature, "base64url"));
  expect(isGenuine).toBe(true);
  const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
  return { header: read(header), claims: read(claims) };
}

const pkcs8 = ({ privateKey }: { readonly privateKey: KeyObject }) =>
  String(privateKey.export({ type: "pkcs8", format: "pem" }));
const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" });
const ed25519 = generateKeyPairSync("ed25519");

describe("an assertion", () => {
  const byKey = { name: "one", clientId, privateKey: { file: "DIR/key" }, audience };
  const settings = { clientAuth: "private_key_jwt" };
  const pkcs1 = String(rsa.privateKey.export({ type: "pkcs1", format: "pem" }));
  const jwk = { ...p256.privateKey.export({ format: "jwk" }), kid: "key-1" };

  it.each([
    { kind: "RSA", pair: rsa, key: pkcs8(rsa), alg: "RS256", digest: "sha256" },
    { kind: "RSA in PKCS #1", pair: rsa, key: pkcs1, alg: "RS256", digest: "sha256" },
    { kind: "P-256", pair: p256, key: pkcs8(p256), alg: "ES256", digest: "sha256" },
    { kind: "P-384", pair: p384, key: pkcs8(p384), alg: "ES384", digest: "sha384" },
    { kind: "Ed25519", pair: ed25519, key: pkcs8(ed25519), alg: "EdDSA", digest: undefined },
    { kind: "a JWK", pair: p256, key: JSON.stringify(jwk), alg: "ES256", digest: "sha256", kid: jwk.kid },
  ])("is signed with a key of $kind by $alg", async ({ pair, key, alg, digest, kid }) => {
    const sinceSeconds = Math.floor(Date.now() / 1_000);
    const { request, endpoint } = await ask(settings, byKey, { key });
    const { header, claims } = verified(request, pair.publicKey, digest);
    expect(header).toEqual({ alg, typ: "JWT", ...(kid === undefined ? {} : { kid }) });
    const { iat, exp, jti, ...who } = claims;
    expect(who).toEqual({ iss: clientId, sub: clientId, aud: endpoint });
    expect(Number(iat) - sinceSeconds).toBeGreaterThanOrEqual(0);
    expect(Number(iat) - sinceSeconds).toBeLessThan(30);
    expect(Number(exp) - Number(iat)).toBe(60);
    expect(jti).toMatch(/^[0-9a-f-]{36}$/);
    expect(request.head).not.toMatch(/authorization/i);
  });

  it("is made anew for each request", async () => {
    const { login } = await ask(settings, byKey, { key: clientKey }, [
      [500, {}],
      [500, {}],
      [200, granted],
    ]);
    const publicKey = createPublicKey(
      new X509Certificate(clientCertificate).publicKey.export({ type: "spki", format: "pem" }),
    );
    const ids = login.requests.map((request) => verified(request, publicKey, "sha256").claims["jti"]);
    expect(ids).toHaveLength(3);
    expect(new Set(ids).size).toBe(3);
  });

  it("has the audience of the settings", async () => {
    const assertion = { audience: "https://login.example/", keyId: "k-7" };
    const { request } = await ask({ ...settings, assertion }, byKey, { key: pkcs8(p256) });
    const { header, claims } = verified(request, p256.publicKey, "sha256");
    expect(header["kid"]).toBe("k-7");
    expect(claims["aud"]).toBe("https://login.example/");
  });

  it("has the issuer as its only audience, and the type, of the settings", async () => {
    const issuer = "https://login.example/realms/payments";
    const assertion = { typ: "client-authentication+jwt" };
    const { request } = await ask({ ...settings, issuer, assertion }, byKey, { key: pkcs8(p256) });
    const { header, claims } = verified(request, p256.publicKey, "sha256");
    expect(header).toEqual({ alg: "ES256", typ: "client-authentication+jwt" });
    expect(claims["aud"]).toBe(issuer);
  });

  it("has its own audience rather than the issuer", async () => {
    const own = { issuer: "https://login.example", assertion: { audience: "https://login.example/other" } };
    const { request } = await ask({ ...settings, ...own }, byKey, { key: pkcs8(p256) });
    expect(verified(request, p256.publicKey, "sha256").claims["aud"]).toBe("https://login.example/other");
  });
});

/** A TLS server that demands a client certificate of the authority. */
async function startTlsServer(answer: object) {
  const seen: { readonly subject: string; readonly body: string; readonly authorization: string | undefined }[] = [];
  const options = { ...serverTls, ca: authority, requestCert: true, rejectUnauthorized: true };
  const server = createServer(options, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { subject } = (request.socket as TLSSocket).getPeerCertificate();
    const { authorization } = request.headers;
    seen.push({ subject: String(subject.CN), body: Buffer.concat(chunks).toString(), authorization });
    response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
  });
  const port = await listen(server);
  return { url: `https://localhost:${port}`, seen };
}

it("with clientAuth tls the certificate proves the client, and the service, which accepts the bound token, sees the same certificate", async () => {
  const [service, login] = [await startTlsServer({}), await startTlsServer(granted)];
  const { url } = await startConfiguredProxy(
    {
      baseUrl: service.url,
      allowPlaintext: false,
      tls: { caFile: "DIR/authority.pem", certFile: "DIR/cert.pem", keyFile: "DIR/key.pem" },
      token: { url: `${login.url}/token`, clientAuth: "tls" },
      sites: one({ name: "one", clientId }),
    },
    { "cert.pem": clientCertificate, "key.pem": clientKey },
  );
  expect((await call(url)).status).toBe(200);
  expect(login.seen).toEqual([
    {
      subject: "countersign",
      body: `grant_type=client_credentials&client_id=${encodedId}`,
      authorization: undefined,
    },
  ]);
  expect(service.seen).toMatchObject([{ subject: "countersign", authorization: "Bearer abc.def" }]);
});

it("two sets of one site may prove their clients differently and at different servers, and the second takes over from the first", async () => {
  const service = await startService();
  const first = await startLogin([401, { error: "invalid_client" }]);
  const second = await startLogin();
  const sets = [
    { ...post, token: { clientAuth: "basic" } },
    {
      name: "two",
      clientId: "two-id",
      clientSecret: { file: "DIR/other" },
      token: { url: `${second.url}/token`, scope: "b" },
    },
  ];
  const { url } = await startConfiguredProxy(
    { baseUrl: service.url, token: { url: `${first.url}/token`, scope: "a" }, sites: { S1: { credentials: sets } } },
    { secret, other: "canary-other-secret" },
  );
  expect((await call(url)).status).toBe(200);
  expect(first.requests[0]?.head).toContain(`\r\nauthorization: Basic ${basicForm}`);
  expect(first.requests[0]?.body).toBe("grant_type=client_credentials&audience=https%3A%2F%2Fapi.example&scope=a");
  expect(second.requests[0]?.body).toBe(
    "grant_type=client_credentials&client_id=two-id&client_secret=canary-other-secret&scope=b",
  );
});

it("a token without expires_in has the settings' lifetime, but an expires_in takes precedence", async () => {
  const { expires_in: _, ...withoutLife } = granted;
  const without = await ask({ lifetime: "2h" }, post, {}, [[200, withoutLife]]);
  expect(without.recorder.of("token_adopted")[0]).toMatchObject({ lifetimeMs: 7_200_000 });
  const { recorder } = await ask({ lifetime: "2h" });
  expect(recorder.of("token_adopted")[0]).toMatchObject({ lifetimeMs: 3_600_000 });
});

it("/status names the token endpoints of sets that have their own", async () => {
  const { statusUrl, endpoint } = await ask({});
  const { json } = await call(statusUrl, "", { method: "GET", path: "/status" });
  expect(json.environments[0]).toMatchObject({ name: "sandbox", tokenUrls: [endpoint] });
  expect(json.environments[0]).not.toHaveProperty("authUrl");
});

function headOf(port: number, path: string, contentType: string, length: number, more = "") {
  return (
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\naccept: application/json\r\n` +
    `content-type: ${contentType}\r\n${more}content-length: ${length}`
  );
}
