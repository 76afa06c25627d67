import { Agent } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Simulator, startSimulator } from "../../../simulator/src/service/simulator.ts";
import { aclUser } from "../../../testkit/acl.ts";
import { type Called, call, order } from "../../../testkit/call.ts";
import { authority } from "../../../testkit/certificates.ts";
import { ConfigFolder, canaries, tokenKey } from "../../../testkit/config-folder.ts";
import { freePort } from "../../../testkit/free-port.ts";
import { tokenFor } from "../../../testkit/platform-token.ts";
import type { RealRedis } from "../../../testkit/redis.ts";
import { startServe } from "../../../testkit/run-program.ts";
import { type Application, startApplication } from "../../promises/callbacks/stage.ts";

export const site = "S1000000001";
export const child = "S1000000002";
export const signing = "S1000000003";
const audience = "https://api.sandbox.example";
const shopToken = "token-of-the-shop-0001";

/** One process of the built command. */
export interface Serving {
  /** Where Prometheus finds it: `127.0.0.1:port`. */
  readonly admin: string;
  order(site?: string): Promise<Called>;
  /** An order of the named caller `shop`, which may order for one site only. */
  orderAsShop(site: string): Promise<Called>;
  /** Where the service calls it back. */
  readonly callbackPort: number;
  /** Rewrites its configuration by one replacement; it takes that up, or refuses it, by itself. */
  change(from: string, to: string): void;
}

export interface LivingService {
  readonly simulator: Simulator;
  /** Genuine callbacks go there. */
  readonly application: Application;
  readonly processes: readonly [Serving, Serving];
  /** Orders for every site through both, one after another, until the test ends. */
  keepOrdering(): void;
}

/**
 * Two processes over the same three masters of Redis, with a site of two credential sets, its child, and a site that
 * signs. Tokens live a few seconds, so that many of their lives fit into a test. The forward proxy and the collector are
 * configured and never asked: the simulator is on loopback, and no trace is recorded.
 */
export async function startService(masters: readonly RealRedis[]): Promise<LivingService> {
  const simulator = await startSimulator({ sites: simulatedSites, tokenLifetimeSeconds: 8 });
  onTestFinished(() => simulator.stop());
  const application = await startApplication();
  const serveOne = (name: string) => serve(name, simulator, application, masters);
  const processes = [await serveOne("one"), await serveOne("two")] as const;
  return {
    simulator,
    application,
    processes,
    keepOrdering() {
      let goesOn = true;
      const loop = async ({ order }: Serving) => {
        while (goesOn) for (const to of [site, child, signing]) await order(to);
      };
      const loops = processes.map(loop);
      onTestFinished(async () => {
        goesOn = false;
        await Promise.allSettled(loops);
      });
    },
  };
}

async function serve(
  name: string,
  simulator: Simulator,
  application: Application,
  masters: readonly RealRedis[],
): Promise<Serving> {
  const folder = new ConfigFolder();
  const [callbackPort, callersPort] = [await freePort(), await freePort()];
  folder.write("token-key", tokenKey);
  folder.write("redis-password", aclUser.password);
  folder.write("authority.pem", authority);
  const socketPath = join(folder.path, `${name}.sock`);
  folder.write("shop.token", shopToken);
  folder.write("assertion", tokenFor(3_600));
  let yaml = describe(simulator, socketPath, callbackPort, application.url, masters)
    .replaceAll("DIR", folder.path)
    .replace("CALLERS_PORT", String(callersPort));
  const file = folder.write("countersign.yaml", yaml);
  const program = await startServe(file);
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  return {
    admin: new URL(program.adminUrl).host,
    callbackPort,
    order: (to = site) => call("http://localhost", order, { socketPath, agent, headers: { "Countersign-Site": to } }),
    orderAsShop(to) {
      const headers = { "Countersign-Site": to, "Proxy-Authorization": `Bearer ${shopToken}` };
      return call(`http://127.0.0.1:${callersPort}`, order, { headers });
    },
    change(from, to) {
      yaml = yaml.replace(from, to);
      folder.write("countersign.yaml", yaml);
    },
  };
}

function describe(
  { apiUrl, loginUrl }: Simulator,
  socketPath: string,
  callbackPort: number,
  application: string,
  [cache, ...others]: readonly RealRedis[],
): string {
  return `listeners:
  - { bind: "unix:${socketPath}", environment: sandbox }
  - bind: "127.0.0.1:CALLERS_PORT"
    environment: sandbox
    callers: { shop: { token: { file: DIR/shop.token }, sites: [ ${site} ] } }
callbacks: [ { bind: "127.0.0.1:${callbackPort}", environment: sandbox, application: { url: "${application}" } } ]
admin: { bind: "127.0.0.1:0" }
status: { bind: "127.0.0.1:0" }
environments:
  sandbox:
    baseUrl: ${apiUrl}
    authUrl: ${loginUrl}
    allowPlaintext: true
    tls: { caFile: DIR/authority.pem }
    egress: { proxy: "http://127.0.0.1:3128" }
    operations: [create_order]
    defaultSite: ${site}
    sites:
      ${site}:
        credentials:
          - { name: blue, dir: DIR/blue }
          - { name: green, clientId: green-id, clientSecret: { file: DIR/green }, audience: "${audience}" }
        children: { ${child}: { auth: [oauth, hmac], bridge: hmac, keys: [ { identifier: K2000000002, secret: { file: DIR/k2 } } ] } }
      ${signing}:
        auth: [hmac, oauth]
        keys: [ { identifier: K2000000001, secret: { file: DIR/k1 } } ]
        credentials:
          - { name: platform, clientId: platform, audience: a, token: { clientAuth: { assertion: { file: DIR/assertion } } } }
tracing: { otlp: { endpoint: "http://127.0.0.1:4318/v1/traces" }, sampleRatio: 0 }
tokens: { cache: redis }
redis:
  url: ${cache?.url}
  lockNodes: [ ${others.map(({ url }) => `"${url}"`).join(", ")} ]
  username: ${aclUser.username}
  password: { file: DIR/redis-password }
  encryptionKeys: [ { file: DIR/token-key } ]
`;
}

const simulatedSites = [
  {
    identifier: site,
    credentials: [
      { clientId: "blue-id", clientSecret: canaries.blue, audience },
      { clientId: "green-id", clientSecret: canaries.green, audience },
    ],
  },
  { identifier: child, parent: site, keys: [{ identifier: "K2000000002", secret: "canary-api-secret-key-two" }] },
  { identifier: signing, keys: [{ identifier: "K2000000001", secret: canaries.key }] },
];
