/**
 * Each recipe of docs/authorization-servers.md loads, sends requests and reads answers as its vendor documents. examples/authorization-server
 * has a real authorization server, a service that verifies its tokens, and the configuration.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import { signAssertion } from "../../src/adapters/jose/sign-assertion.ts";
import { readRegularFile } from "../../src/config/files/file-system.ts";
import { readDocument, toYaml } from "../../src/config/files/yaml.ts";
import { credentialSetsOf, tokenUrlOf } from "../../src/model/environment.ts";
import { requestToken, type TokenRequest } from "../../src/oauth/token-endpoint.ts";
import { call, order } from "../../testkit/call.ts";
import { clientCertificate, clientKey, rsaCertificate, rsaKey } from "../../testkit/certificates.ts";
import { ConfigFolder } from "../../testkit/config-folder.ts";
import { sandboxConfig } from "../../testkit/config-writer.ts";
import { freePort } from "../../testkit/free-port.ts";
import { type Recipe, recipeOf, recipes } from "../../testkit/recipes.ts";
import { startProgram, startServe } from "../../testkit/run-program.ts";

const secret = "canary client-secret:of+a/vendor";
const jwtBearer = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

const set = { name: "blue", clientId: "abc:def", clientSecret: { file: "secret" } };

const jwt = "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJhcGkifQ.c2lnbmF0dXJl";
/** RFC 6749 section 2.3.1: each part is form-encoded, then both are joined and encoded. */
const basic = `Basic ${Buffer.from("abc%3Adef:canary%20client-secret%3Aof%2Ba%2Fvendor").toString("base64")}`;
const inBody = { client_id: "abc:def", client_secret: secret };

const byPlatform = (clientId: string) => ({ ...byKey(clientId), client_assertion: jwt });
const bearer = { access_token: jwt, token_type: "Bearer" };
const forAnHour = { ...bearer, expires_in: 3600, scope: "orders" };
const forADay = { ...bearer, expires_in: 86400 };
const keycloak = { ...bearer, expires_in: 300, refresh_expires_in: 0, "not-before-policy": 0, scope: "orders" };
const entra = { ...bearer, expires_in: 3599, ext_expires_in: 3599 };
const hydra = { access_token: "ory_at_GVG1Ah-yk_94.Szlm-xyz", expires_in: 3599, scope: "orders", token_type: "bearer" };

const ofRealm = /\/realms\/payments\/protocol\/openid-connect\/token$/;
const ofTenant = /^https:\/\/login\.microsoftonline\.com\/[\d-]+\/oauth2\/v2\.0\/token$/;
const ofAuth0 = /\.auth0\.example\/oauth\/token$/;

const application = "66666666-7777-8888-9999-000000000000";
const scope = "orders";
const ofEntra = { scope: "api://orders/.default" };
const audience = "https://api.sandbox.example";

/** Shapes of requests and answers, as each vendor documents them. */
const shapes: Readonly<Record<string, Shape>> = {
  Keycloak: { url: ofRealm, fields: { ...inBody, scope }, answer: keycloak },
  "Keycloak, by key": { url: ofRealm, fields: byKey("countersign"), answer: keycloak },
  "Keycloak, by a token of the platform": {
    url: ofRealm,
    fields: { ...byPlatform("system:serviceaccount:payments:countersign"), scope },
    answer: keycloak,
  },
  "Microsoft Entra ID": { url: ofTenant, fields: { ...inBody, ...ofEntra }, answer: entra },
  "Microsoft Entra ID, by key": { url: ofTenant, fields: { ...byKey(application), ...ofEntra }, answer: entra },
  "Microsoft Entra ID, by a token of the platform": {
    url: ofTenant,
    fields: { ...byPlatform(application), ...ofEntra },
    answer: entra,
  },
  Okta: { url: /\/oauth2\/default\/v1\/token$/, fields: { scope }, authorization: basic, answer: forAnHour },
  Auth0: { url: ofAuth0, fields: { ...inBody, audience }, answer: { ...forADay, scope: "read:orders" } },
  "Auth0, by key": { url: ofAuth0, fields: { ...byKey("abc"), audience }, answer: forADay },
  "Amazon Cognito": {
    url: /\.amazoncognito\.example\/oauth2\/token$/,
    fields: { scope: "orders/write" },
    authorization: basic,
    answer: { ...bearer, expires_in: 3600 },
  },
  "PingOne and PingFederate": { url: /\/as\/token$/, fields: { scope }, authorization: basic, answer: forAnHour },
  "ORY Hydra": { url: /\/oauth2\/token$/, fields: { scope, audience }, authorization: basic, answer: hydra },
  "Spring Authorization Server": {
    url: /\/oauth2\/token$/,
    fields: { scope },
    authorization: basic,
    answer: { ...bearer, scope, expires_in: 299 },
  },
  "django-oauth-toolkit": {
    url: /\/o\/token\/$/,
    fields: { scope },
    authorization: basic,
    answer: { ...bearer, scope, expires_in: 36_000 },
  },
  Doorkeeper: {
    url: /\/oauth\/token$/,
    fields: { ...inBody, scope },
    answer: { ...bearer, scope, expires_in: 7_200, created_at: 1_800_000_000 },
  },
  "oidc-provider": {
    url: /\/token$/,
    fields: { scope },
    authorization: basic,
    answer: { ...bearer, expires_in: 600 },
  },
  "better-auth": {
    url: /\/oauth2\/token$/,
    fields: { scope },
    authorization: basic,
    answer: { ...bearer, scope, expires_in: 3_600, expires_at: 1_800_003_600 },
  },
  Zitadel: {
    url: /\/oauth\/v2\/token$/,
    fields: { scope: "openid" },
    authorization: basic,
    answer: { ...bearer, scope: "openid", expires_in: 43_199 },
  },
  // RFC 8705 section 3.1 shows no expires_in; such a token counts as valid for 300 s.
  "Client certificate (RFC 8705)": { url: /^https:\/\/mtls\./, fields: { client_id: "countersign" }, answer: bearer },
};

describe("a recipe", () => {
  it("is on the page for each vendor, and for no other", () => {
    expect(recipes.map(({ title }) => title)).toEqual(Object.keys(shapes));
  });

  it.each(recipes.map((recipe) => [recipe.title, recipe] as const))(
    "asks and reads as documented: %s",
    async (title, recipe) => {
      const shape = shapes[title] ?? expect.unreachable();
      const { url, request, fields, result } = await ask(recipe, shape.answer);
      expect(url).toMatch(shape.url);
      expect(fields).toEqual({ grant_type: "client_credentials", ...shape.fields });
      expect(request).toEqual({
        contentType: "application/x-www-form-urlencoded",
        body: request.body,
        ...(shape.authorization === undefined ? {} : { authorization: shape.authorization }),
      });
      expect(result).toMatchObject({ kind: "issued", grant: { lifetimeMs: (shape.answer.expires_in ?? 300) * 1_000 } });
    },
  );
});

/** Header and claims of the assertion in a recipe's token request. */
async function assertionOf(title: string) {
  const { fields } = await ask(recipeOf(title), keycloak);
  const parts = (fields["client_assertion"] ?? "").split(".").slice(0, 2);
  const [header, claims] = parts.map((part) => JSON.parse(Buffer.from(part, "base64url").toString("utf8")));
  return { header, claims };
}

describe("the assertion", () => {
  it("for Keycloak has the realm as its audience", async () => {
    const { header, claims } = await assertionOf("Keycloak, by key");
    expect(header).toEqual({ alg: "ES256", typ: "JWT" });
    expect(claims).toEqual({
      iss: "countersign",
      sub: "countersign",
      aud: "https://keycloak.example/realms/payments",
      iat: 1_800_000_000,
      exp: 1_800_000_060,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  it("for Entra ID names the certificate by its thumbprints, and has the token endpoint as its audience", async () => {
    const { header, claims } = await assertionOf("Microsoft Entra ID, by key");
    expect(header).toEqual({
      alg: "PS256",
      typ: "JWT",
      x5t: expect.stringMatching(/^[\w-]{27}$/),
      "x5t#S256": expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(claims.aud).toBe("https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/oauth2/v2.0/token");
  });

  it("for Auth0 has the tenant as its audience, with a slash at the end", async () => {
    const { claims } = await assertionOf("Auth0, by key");
    expect(claims.aud).toBe("https://company.eu.auth0.example/");
  });
});

it("with the example an order goes to the service with a token of the example's authorization server", async () => {
  const folder = new ConfigFolder();
  const written = readFileSync("examples/authorization-server/countersign.yaml", "utf8");
  const ports = new Map<string, string>();
  for (const port of ["7411", "7412", "7413", "7421", "7422"]) ports.set(port, String(await freePort()));
  const own = written.replace(/\b74[12]\d\b/g, (port) => ports.get(port) ?? port);
  const file = folder.write("countersign.yaml", own);
  const [port = "", apiPort = "", loginPort = ""] = ["7411", "7421", "7422"].map((each) => ports.get(each));
  const server = ["examples/authorization-server/server.mjs", folder.path, apiPort, loginPort];
  await startProgram(process.execPath, server).line((line) => line === "ready");
  await startServe(file);
  const { status, json } = await call(`http://127.0.0.1:${port}`);
  expect(status).toBe(200);
  expect(json).toMatchObject({ client: "countersign", scope: "orders", order: { site_identifier: "S1000000001" } });
  const bySite = { headers: { "countersign-site": "S1000000002" } };
  const ofPod = await call(`http://127.0.0.1:${port}`, order, bySite);
  expect(ofPod.status).toBe(200);
  expect(ofPod.json).toMatchObject({ client: "pod", order: { site_identifier: "S1000000002" } });
});

/** Loads the recipe within a whole configuration; the files that it names come from the test. */
async function load({ yaml, title }: Recipe) {
  const [cert, key] = title.startsWith("Microsoft") ? [rsaCertificate, rsaKey] : [clientCertificate, clientKey];
  const folder = new ConfigFolder({ "cert.pem": cert, "key.pem": key, secret });
  const inFolder = (path: string) => `${folder.path}/${basename(path)}`;
  const recipe = readDocument(yaml).value as object;
  const environment = { baseUrl: "https://api.sandbox.example", sites: { S1: { credentials: [set] } }, ...recipe };
  const { config } = await folder.loadSound(toYaml(sandboxConfig(["127.0.0.1:7411"], environment)), {
    readFile: (path) => readRegularFile(inFolder(path)),
  });
  const sandbox = config.environments.get("sandbox") ?? expect.unreachable();
  const [configured = expect.unreachable()] = credentialSetsOf(sandbox);
  return { sandbox, set: configured.set };
}

/** The token request of a recipe, and the result for the answer. */
async function ask(recipe: Recipe, answer: object) {
  const { sandbox, set } = await load(recipe);
  const sent: TokenRequest[] = [];
  const post = async (request: TokenRequest) => {
    sent.push(request);
    const body = JSON.stringify(answer);
    return { kind: "answered", status: 200, body, retryAfter: undefined, date: undefined } as const;
  };
  const readAssertion = async () => ({ text: jwt, expiresAtMs: undefined });
  const result = await requestToken({ post, sign: signAssertion, readAssertion }, set, {
    wallMs: () => 1_800_000_000_500,
    timeoutMs: 5_000,
  });
  const { origin, path } = tokenUrlOf(sandbox, set);
  const [request = { body: "", contentType: undefined }] = sent;
  return { url: `${origin}${path}`, request, fields: Object.fromEntries(new URLSearchParams(request.body)), result };
}

function byKey(clientId: string) {
  return {
    client_id: clientId,
    client_assertion_type: jwtBearer,
    client_assertion: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
  };
}

interface Shape {
  readonly url: RegExp;
  readonly fields: object;
  readonly authorization?: string;
  readonly answer: { readonly expires_in?: number; readonly [field: string]: unknown };
}
