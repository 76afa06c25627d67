import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { ConfigWriter } from "../../testkit/config-writer.ts";
import { scrape } from "../../testkit/exposition.ts";
import { startRedis } from "../../testkit/redis.ts";
import { Keycloak, keycloakVersion } from "./keycloak.ts";
import { environmentOf, secret, serve, startOrderService, startOrders } from "./keycloak-stage.ts";
import { tryWith } from "./try-with.ts";

const lifespanSeconds = 60;
const clientId = "fleet";
let keycloak: Keycloak;

tryWith("Keycloak with four replicas", keycloakVersion(), () => {
  beforeAll(async () => {
    const attributes = { "access.token.lifespan": String(lifespanSeconds) };
    keycloak = await Keycloak.start([{ clientId, secret, attributes }]);
  });
  afterAll(() => keycloak?.close());

  it("over a Redis they take one token for all of them, and a new one before its 60 s end, as Keycloak counts too", async () => {
    const folder = new ConfigWriter("keycloak-fleet");
    onTestFinished(() => folder.remove());
    const service = await startOrderService(keycloak);
    const { url } = await startRedis();
    const more = { tokens: { cache: "redis" }, redis: { url, encryptionKeys: [folder.newKey("token-key")] } };
    const environment = environmentOf({ clientId, recipe: "Keycloak" }, keycloak, service.url, folder);
    const start = () => serve(environment, folder, more);
    // While a connection takes longer than 0.4 s nobody holds the lock; the first one to a new Keycloak takes as long.
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
    // Not four at once; 0.8 lives count from the first request, which Keycloak may take seconds to answer.
    expect(Math.min(...ages), figures).toBeGreaterThan(lifespanSeconds / 2);
    const sum = issued.reduce((total, each) => total + each, 0);
    expect([sum, await keycloak.issued(clientId)], figures).toEqual([4, 4]);
  }, 300_000);
});
