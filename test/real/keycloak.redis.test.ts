/** Keycloak as the authorization server, with the unchanged recipes of docs/authorization-servers.md. */
import { generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { createServer } from "node:http";
import { SignJWT } from "jose";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { call, order } from "../../testkit/call.ts";
import { clientCertificate } from "../../testkit/certificates.ts";
import { ConfigWriter } from "../../testkit/config-writer.ts";
import { scrape } from "../../testkit/exposition.ts";
import { freePort } from "../../testkit/free-port.ts";
import { startRedis } from "../../testkit/redis.ts";
import { diagnose } from "../promises/cli/doctor-runs.ts";
import { type Client, Keycloak, keycloakVersion } from "./keycloak.ts";
import { environmentOf, startOrderService, thumbprintOf, type Way } from "./keycloak-orders.ts";
import { secret, serve, startOrders } from "./orders.ts";
import { tryWith } from "./try-with.ts";

const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ed25519 = generateKeyPairSync("ed25519");

const platform = generateKeyPairSync("rsa", { modulusLength: 2_048 });
/** The issuer of a cluster's tokens, which need not be an address. */
const platformIssuer = "https://kubernetes.default.svc.cluster.local";
const account = "system:serviceaccount:payments:countersign";

/** Serves the keys that verify these tokens. */
const platformKeys = createServer((_, response) => {
  const keys = [{ ...platform.publicKey.export({ format: "jwk" }), kid: "platform", use: "sig", alg: "RS256" }];
  response.setHeader("content-type", "application/json").end(JSON.stringify({ keys }));
});

const bySecret = { recipe: "Keycloak", client: { secret } };

const ways: readonly TriedWay[] = [
  { clientId: "post", by: "a secret in the body, with % and a space in it", ...bySecret },
  {
    clientId: "basic",
    by: "Basic authentication, with % and a space in the secret",
    ...bySecret,
    token: { clientAuth: "basic" },
  },
  { clientId: "rsa", by: "private_key_jwt (RS256)", ...byKey(rsa) },
  { clientId: "p256", by: "private_key_jwt (ES256)", ...byKey(p256) },
  { clientId: "ed25519", by: "private_key_jwt (EdDSA)", ...byKey(ed25519) },
  {
    clientId: "tls",
    by: "a TLS certificate, to which it is bound",
    recipe: "Client certificate (RFC 8705)",
    client: {
      clientAuthenticatorType: "client-x509",
      attributes: { "x509.subjectdn": "CN=countersign", "tls.client.certificate.bound.access.tokens": "true" },
    },
  },
];

const other = "canary 50% of-another/secret";

const troubles: readonly Trouble[] = [
  {
    clientId: "rotated",
    what: "a secret changes in Keycloak first, and later in its file",
    told: "credentials_refused not_sent",
    begin: (clientId) => keycloak.change(clientId, { secret: other }),
    end: async (_, mount) => mount(other),
  },
  {
    clientId: "disabled",
    what: "a client is disabled, and enabled again",
    told: "credentials_refused not_sent",
    begin: (clientId) => keycloak.change(clientId, { enabled: false }),
    end: (clientId) => keycloak.change(clientId, { enabled: true }),
  },
  {
    clientId: "restarted",
    what: "Keycloak restarts",
    told: "token_unavailable not_sent",
    begin: () => keycloak.stop(),
    end: () => keycloak.start(),
  },
];

const clients: readonly Client[] = [
  ...ways.map(({ clientId, client }) => ({ clientId, ...client })),
  // Short enough to wait for their expiry; a tenth of them is more than the second to which Keycloak rounds.
  ...troubles.map(({ clientId }) => ({ clientId, secret, attributes: { "access.token.lifespan": "12" } })),
  { clientId: "rolled", secret },
  {
    // Keycloak finds the client by issuer and subject; the client's own id is not used.
    clientId: "pod",
    clientAuthenticatorType: "federated-jwt",
    attributes: {
      "jwt.credential.issuer": "platform",
      "jwt.credential.sub": account,
      "access.token.lifespan": "12",
    },
  },
];

let keycloak: Keycloak;

tryWith("Keycloak", keycloakVersion(), () => {
  beforeAll(async () => {
    const port = await freePort();
    platformKeys.listen(port, "127.0.0.1");
    keycloak = await Keycloak.start(clients, { issuer: platformIssuer, keysUrl: `http://127.0.0.1:${port}/` });
  });
  afterAll(async () => {
    platformKeys.close();
    await keycloak?.close();
  });

  it.each(ways.map((way) => [way.by, way] as const))(
    "the service accepts a token requested with %s",
    async (_, way) => {
      const { service, proxy } = await stage(way);
      expect(await call(proxy.url, { ...order, order_reference: "one" })).toMatchObject({ status: 200 });
      expect(service.executed).toEqual(["one"]);
      expect(service.tokens[0]).toMatchObject({ azp: way.clientId, scope: way.recipe === "Keycloak" ? "orders" : "" });
      const bound = { "x5t#S256": thumbprintOf(new X509Certificate(clientCertificate)) };
      expect(service.tokens[0]?.["cnf"]).toEqual(way.clientId === "tls" ? bound : undefined);
      expect(await keycloak.issued(way.clientId)).toBe(1);
    },
  );

  it("a client proves itself by a token of Kubernetes, which is read anew for each token request, so that a renewed one replaces a refused one", async () => {
    const way = { clientId: account, recipe: "Keycloak, by a token of the platform", assertion: await projectToken() };
    const { folder, service, proxy } = await stage(way);
    const orders = startOrders([proxy.url], 20);
    await expect.poll(() => orders.count()).toBeGreaterThan(20);
    const [{ azp, scope } = {}] = service.tokens;
    expect({ azp, scope }).toEqual({ azp: "pod", scope: "orders" });
    // Keycloak's OpenID Connect provider refuses a token older than 5 minutes, but accepts a younger one several times.
    folder.write("keycloak/token", await projectToken(310));
    await expect.poll(() => orders.count("credentials_refused not_sent"), { timeout: 30_000 }).toBeGreaterThan(20);
    const created = orders.count();
    folder.write("keycloak/token", await projectToken(200));
    await expect.poll(() => orders.count(), { timeout: 45_000 }).toBeGreaterThan(created + 20);
    await orders.stop();
    orders.expectEachAsTold(service.executed, "credentials_refused not_sent");
    const reused = new Set(service.tokens.map(({ jti }) => jti)).size;
    expect(reused).toBeGreaterThan(1);
    expect(await keycloak.issued("pod")).toBe(reused);
  });

  it.each(troubles.map((trouble) => [trouble.what, trouble.told, trouble] as const))(
    "%s: each order is created once or is %s, and orders succeed again without help",
    async (what, told, { clientId, begin, end }) => {
      const { folder, service, proxy } = await stage({ clientId, recipe: "Keycloak" });
      const orders = startOrders([proxy.url], 20);
      await expect.poll(() => orders.count()).toBeGreaterThan(20);
      await begin(clientId);
      await expect.poll(() => orders.count(told)).toBeGreaterThan(20);
      const created = orders.count();
      await end(clientId, (text) => folder.write("client-secret", text));
      const endedMs = performance.now();
      // After a long outage a token is requested within 30 s.
      await expect.poll(() => orders.count(), { timeout: 45_000 }).toBeGreaterThan(created);
      const healedMs = performance.now() - endedMs;
      await expect.poll(() => orders.count()).toBeGreaterThan(created + 20);
      await orders.stop();
      orders.expectEachAsTold(service.executed, told);
      process.stdout.write(
        `${what}: ${orders.count()} created, ${orders.count(told)} ${told}, healed after ${healedMs.toFixed(0)} ms\n`,
      );
    },
  );

  it("the realm's keys are replaced: each order is created once, and after the old token's 401s one new token is enough", async () => {
    const { service, proxy } = await stage({ clientId: "rolled", recipe: "Keycloak" });
    const orders = startOrders([proxy.url], 20);
    const goOn = async () => {
      const before = orders.count();
      await expect.poll(() => orders.count()).toBeGreaterThan(before + 20);
    };
    await goOn();
    const removeOldKeys = await keycloak.rollKeys();
    await goOn();
    expect(orders.retried).toBe(0);
    await removeOldKeys();
    await service.reloadKeys();
    await goOn();
    await orders.stop();
    orders.expectEachAsTold(service.executed);
    expect(orders.retried).toBeGreaterThan(0);
    expect(await keycloak.issued("rolled")).toBe(2);
  });

  it("doctor gets a token, and says what to compare if the secret is wrong", async () => {
    const { folder, proxy } = await stage({ clientId: "post", recipe: "Keycloak" });
    proxy.child.kill("SIGTERM");
    await proxy.ended;
    const good = await diagnose(proxy.file);
    expect(good.of("token")).toEqual([expect.stringMatching(/^ok .*blue: issued, valid for 5 min/)]);
    expect(good.hasFailed).toBe(false);
    folder.write("client-secret", other);
    expect((await diagnose(proxy.file)).of("token")).toEqual([
      expect.stringMatching(
        /^fail .*refuses the set \(401, unauthorized_client\) \| compare client id \(post\), secret/,
      ),
    ]);
  });
});

tryWith("Keycloak with four replicas", keycloakVersion(), () => {
  const lifespanSeconds = 60;
  const clientId = "fleet";

  beforeAll(async () => {
    const attributes = { "access.token.lifespan": String(lifespanSeconds) };
    keycloak = await Keycloak.start([{ clientId, secret, attributes }]);
  });
  afterAll(() => keycloak?.close());

  it("they share each token through Redis, and get the next before its 60 s are over, as Keycloak's own count shows", async () => {
    const folder = new ConfigWriter("keycloak-fleet");
    onTestFinished(() => folder.remove());
    const service = await startOrderService(keycloak);
    const { url } = await startRedis();
    const more = { tokens: { cache: "redis" }, redis: { url, encryptionKeys: [folder.newKey("token-key")] } };
    const environment = environmentOf({ clientId, recipe: "Keycloak" }, keycloak, service.url, folder);
    const start = () => serve(environment, folder, more);
    // While its connection takes longer than 0.4 s, no replica holds the lock; the first connection to a new Keycloak takes as long.
    const first = await start();
    await first.line((line) => line.includes('"event":"token_requested"'));
    const replicas = [first, ...(await Promise.all([start(), start(), start()]))];
    const urls = replicas.map((replica) => replica.url);
    const orders = startOrders(urls, 20);
    const issuedAt = () => [...new Map(service.tokens.map(({ jti, iat = 0 }) => [jti, iat])).values()];
    await expect.poll(() => issuedAt().length, { timeout: 4 * lifespanSeconds * 1_000 }).toBe(4);
    await orders.stop();
    orders.expectEachAsTold(service.executed);
    const ages = issuedAt().map((seconds, index, all) => seconds - (all[index - 1] ?? 0));
    const all = await Promise.all(replicas.map(({ adminUrl }) => scrape(adminUrl)));
    const issued = all.map((each) => each.sum("countersign_token_requests_total", { result: "issued" }));
    const figures = `${orders.count()} orders, tokens by replica ${issued}, renewed after ${ages.slice(1)} s`;
    process.stdout.write(`${figures}\n`);
    // The four tokens do not come at once; 0.8 of a lifetime counts from the first request, which Keycloak may take seconds to answer.
    expect(Math.min(...ages), figures).toBeGreaterThan(lifespanSeconds / 2);
    const sum = issued.reduce((total, each) => total + each, 0);
    expect([sum, await keycloak.issued(clientId)], figures).toEqual([4, 4]);
  }, 300_000);
});

/** A token of a service account for Keycloak, projected this many seconds ago, valid for an hour. */
function projectToken(ageSeconds = 0): Promise<string> {
  const iat = Math.floor(Date.now() / 1_000) - ageSeconds;
  return new SignJWT({ iss: platformIssuer, sub: account, aud: [keycloak.issuer], iat, exp: iat + 3_600 })
    .setProtectedHeader({ alg: "RS256", kid: "platform" })
    .sign(platform.privateKey);
}

interface TriedWay extends Way {
  readonly by: string;
  /** The client's fields in Keycloak. */
  readonly client: object;
}

function byKey({ privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject }) {
  const keys = JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), use: "sig" }] });
  const attributes = { "use.jwks.string": "true", "jwks.string": keys };
  return {
    recipe: "Keycloak, by key",
    key: String(privateKey.export({ type: "pkcs8", format: "pem" })),
    client: { clientAuthenticatorType: "client-jwt", attributes },
  };
}

interface Trouble {
  readonly clientId: string;
  readonly what: string;
  /** The result that callers get once the last token has expired. */
  readonly told: string;
  begin(clientId: string): Promise<void>;
  /** Ends the trouble; Countersign notices a mounted secret by itself. */
  end(clientId: string, mount: (secret: string) => void): Promise<void>;
}

async function stage(way: Way) {
  const folder = new ConfigWriter("keycloak-client");
  onTestFinished(() => folder.remove());
  const service = await startOrderService(keycloak);
  return { folder, service, proxy: await serve(environmentOf(way, keycloak, service.url, folder), folder) };
}
