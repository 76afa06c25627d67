import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Simulator, type SimulatorOptions, startSimulator } from "../simulator/src/service/simulator.ts";
import { aclUser } from "./acl.ts";
import { type Called, call, order } from "./call.ts";
import { ConfigFolder } from "./config-folder.ts";
import { type Exposition, scrape } from "./exposition.ts";
import { freePort } from "./free-port.ts";
import { keepAlive } from "./keep-alive.ts";
import type { RealRedis } from "./redis.ts";
import { startServe } from "./run-program.ts";
import { childSite, oauthSite, simulatedSites } from "./simulated-sites.ts";

/** Two sites share one credential set, so that one can be refused while the other is served. */
export { childSite as otherSite, oauthSite as site } from "./simulated-sites.ts";

export interface FleetOptions {
  /** A Redis of the test; or the `redis` section of the configuration, in YAML, without encryptionKeys and user. */
  readonly redis: RealRedis | string;
  readonly replicas?: number;
  readonly simulator?: Partial<SimulatorOptions>;
  /** Address used instead of the simulator's authorization server. */
  readonly authUrl?: string;
  /** Puts a server in front of the simulator's API: receives its address, resolves to the address that replicas call. */
  readonly front?: (apiUrl: string) => Promise<string>;
  /** Further credential sets of the site, in YAML, one per text. */
  readonly moreSets?: readonly string[];
  /** Further keys of the environment, and of the other site, in YAML. */
  readonly environment?: string;
  readonly other?: string;
  /** Further sites, in YAML. */
  readonly moreSites?: string;
  /** Further listeners, in YAML, one per text. */
  readonly listeners?: readonly string[];
  /** Further top-level keys, in YAML. */
  readonly more?: string;
  /** Further files, by name; `DIR` in the YAML stands for their folder. */
  readonly files?: Readonly<Record<string, string>>;
}

/** One proxy process: the built command, on a Unix socket. */
export interface Replica {
  readonly pid: number;
  /** The Unix socket on which the replica listens. */
  readonly socketPath: string;
  readonly adminUrl: string;
  readonly statusUrl: string;
  /** An order through this replica, on a kept-alive connection. */
  order(headers?: Readonly<Record<string, string>>, body?: object): Promise<Called>;
  metrics(): Promise<Exposition>;
  /** The log's lines of this event so far. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was logged
  events(kind: string): readonly any[];
  /** Resolves with the first line of this event, already written or still to come. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was logged
  event(kind: string, isMeant?: (line: any) => boolean): Promise<any>;
  /** Replaces one text of the replica's configuration; the replica notices, and applies or refuses the change by itself. */
  change(from: string, to: string): void;
  signal(name: NodeJS.Signals): void;
  readonly ended: Promise<number | string>;
}

/** Options for one replica only. */
type Own = Pick<FleetOptions, "environment" | "listeners" | "more">;

export interface Fleet {
  readonly simulator: Simulator;
  readonly replicas: readonly Replica[];
  /** Starts one more process with the same configuration, except for its own options. */
  add(own?: Own): Promise<Replica>;
  /** The secret of the first set, as all replicas have it mounted. */
  changeMountedSecret(secret: string): void;
  /** Sum of a metric over the replicas that are alive. */
  sum(metric: string, labels?: Readonly<Record<string, string>>): Promise<number>;
}

/** Proxy processes that share one Redis, with the simulator behind them. All end with the test. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  // Reserved ports: no other program gets them while the service is stopped.
  const ports = { apiPort: await freePort(), loginPort: await freePort() };
  const simulator = await startSimulator({ sites: simulatedSites, ...ports, ...options.simulator });
  onTestFinished(() => simulator.stop());
  const baseUrl = (await options.front?.(simulator.apiUrl)) ?? simulator.apiUrl;
  const folder = new ConfigFolder({ "redis-password": aclUser.password, ...options.files });
  const replicas: Replica[] = [];
  const add = async (own: Own = {}) => {
    const replica = await startReplica(folder, replicas.length, simulator, { ...options, ...own, baseUrl });
    replicas.push(replica);
    return replica;
  };
  await Promise.all(Array.from({ length: options.replicas ?? 2 }, () => add()));
  return {
    simulator,
    replicas,
    add,
    changeMountedSecret: (secret) => void folder.write("blue/client-secret", secret),
    async sum(metric, labels = {}) {
      const all = await Promise.all(replicas.map((replica) => replica.metrics().catch(() => undefined)));
      return all.reduce((sum, exposition) => sum + (exposition?.sum(metric, labels) ?? 0), 0);
    },
  };
}

/** The second set of the site, for `moreSets`. */
export const greenSet =
  '{ name: green, clientId: green-id, clientSecret: { file: DIR/green }, audience: "https://api.sandbox.example" }';

let started = 0;

async function startReplica(
  folder: ConfigFolder,
  index: number,
  simulator: Simulator,
  {
    redis,
    authUrl,
    baseUrl,
    moreSets = [],
    moreSites = "",
    environment = "",
    other = "",
    listeners = [],
    more = "",
  }: FleetOptions & { readonly baseUrl: string },
): Promise<Replica> {
  started += 1;
  const socketPath = join(folder.path, `app-${index}-${started}.sock`);
  const sets = ["{ name: blue, dir: DIR/blue }", ...moreSets];
  const place = typeof redis === "string" ? redis.trim().replace(/^\{|\}$/g, "") : `url: "${redis.url}"`;
  const all = [`{ bind: "unix:${socketPath}", environment: sandbox }`, ...listeners];
  const yaml = `listeners: [ ${all.join(", ")} ]
admin: { bind: "127.0.0.1:0" }
status: { bind: "127.0.0.1:0" }
environments:
  sandbox:
    baseUrl: ${baseUrl}
    authUrl: ${authUrl ?? simulator.loginUrl}
    allowPlaintext: true
    operations: [create_order]
    defaultSite: ${oauthSite}
    ${environment}
    sites: { ${oauthSite}: { credentials: [ ${sets.join(", ")} ], children: { ${childSite}: { ${other} } } }, ${moreSites} }
tokens: { cache: redis }
redis: { username: ${aclUser.username}, password: { file: DIR/redis-password }, encryptionKeys: [ { file: DIR/token-key } ], ${place} }
${more}
`;
  const name = `countersign-${started}.yaml`;
  let written = yaml.replaceAll("DIR", folder.path);
  const program = await startServe(folder.write(name, written));
  const agent = keepAlive();
  const { adminUrl, statusUrl } = program;
  return {
    pid: program.child.pid ?? 0,
    socketPath,
    adminUrl,
    statusUrl,
    order: (headers = {}, body = order) => call("http://localhost", body, { socketPath, agent, headers }),
    metrics: () => scrape(adminUrl),
    events: program.events,
    event: async (kind, isMeant = () => true) => {
      const line = await program.line((text) => text.includes(`"event":"${kind}"`) && isMeant(JSON.parse(text)));
      return JSON.parse(line);
    },
    change(from, to) {
      written = written.replace(from, to);
      folder.write(name, written);
    },
    signal: (signal) => void program.child.kill(signal),
    ended: program.ended,
  };
}
