import { onTestFinished } from "vitest";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../simulator/src/service/simulator.ts";
import { type App, start } from "../../src/app/app.ts";
import type { Dependencies } from "../../src/app/dependencies.ts";
import type { Binds } from "../../src/app/listeners.ts";
import type { Config } from "../../src/config/config.ts";
import type { CredentialSet, Environment, SigningKey, Site } from "../../src/model/environment.ts";
import type { RequestFinished } from "../../src/model/events.ts";
import { Secret } from "../../src/model/secret.ts";
import { addressOf } from "../address.ts";
import { get } from "../call.ts";
import { environmentOf, siteOf } from "../environment.ts";
import { EventRecorder } from "../event-recorder.ts";
import { type Exposition, scrape } from "../exposition.ts";
import { freePort } from "../free-port.ts";
import { ShiftedClock } from "../shifted-clock.ts";
import { audience, bothSite, canaries, childSite, hmacSite, oauthSite, simulatedSites } from "../simulated-sites.ts";

export interface StageOptions {
  readonly simulator?: Partial<SimulatorOptions>;
  readonly environment?: Partial<Environment>;
  readonly site?: Partial<Site>;
  readonly config?: Partial<Config>;
  /** Limits that replace the stage's own. */
  readonly limits?: Partial<Config["limits"]>;
  readonly timeouts?: Partial<Config["timeouts"]>;
  readonly surroundings?: Partial<Dependencies>;
  /** Replaces the simulator's address. */
  readonly baseUrl?: string;
  readonly authUrl?: string;
  /** One credential set at the OAuth site instead of two. */
  readonly oneSet?: boolean;
  /** Also the site with both methods; a token for its set is requested at the start too, so tests count later tokens only. */
  readonly withBoth?: boolean;
}

export interface Stage {
  readonly simulator: Simulator;
  readonly proxy: App;
  readonly recorder: EventRecorder;
  readonly config: Config;
  /** The proxy's clock, which the test moves; `surroundings` may have another one. */
  readonly clock: ShiftedClock;
  /** `http://127.0.0.1:port` of the first listener (port 0 when that is a Unix socket), the admin and the status server. */
  readonly url: string;
  readonly adminUrl: string;
  readonly statusUrl: string;
  readonly port: number;
  /** How the first request ended, as soon as it has ended. */
  finished(): Promise<RequestFinished>;
  metrics(): Promise<Exposition>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any part of the status
  status(): Promise<any>;
  /** The status page, as HTML. */
  page(): Promise<string>;
  /** Applies, as SIGHUP does, the present configuration with this change. */
  reload(change: Partial<Config>): Promise<void>;
}

/** Starts the simulator, and Countersign in front of it, in this process and on real sockets. Both end with the test. */
export async function startStage(options: StageOptions = {}): Promise<Stage> {
  // Reserved ports: no other program gets them while the service is stopped.
  const ports = { apiPort: await freePort(), loginPort: await freePort() };
  const simulator = await startSimulator({ sites: simulatedSites, ...ports, ...options.simulator });
  onTestFinished(() => simulator.stop());
  const recorder = new EventRecorder();
  const config = describeConfig(options, simulator);
  const clock = new ShiftedClock();
  const proxy = await start(config, { clock, ...options.surroundings, report: recorder.report });
  onTestFinished(async () => {
    await proxy.stop("test");
  });
  const [listener] = proxy.binds.listeners;
  const port = listener?.kind === "tcp" ? listener.port : 0;
  const { admin, status = admin } = proxy.binds;
  const adminUrl = `http://127.0.0.1:${portOf(admin)}`;
  const statusUrl = `http://127.0.0.1:${portOf(status)}`;
  let reloads = 0;
  return {
    simulator,
    proxy,
    recorder,
    config,
    clock,
    port,
    url: `http://127.0.0.1:${port}`,
    adminUrl,
    statusUrl,
    finished: () => recorder.nth("request_finished", 1),
    metrics: () => scrape(adminUrl),
    status: async () => (await get(statusUrl, "/status")).json,
    page: async () => (await get(statusUrl, "/")).text,
    reload(change) {
      reloads += 1;
      return proxy.apply({ ...proxy.config, ...change, hash: `reload ${reloads}` }, "sighup");
    },
  };
}

function describeConfig(options: StageOptions, simulator: Simulator): Config {
  const environment = describeEnvironment(options, simulator);
  const anyPort = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
  return {
    listeners: [{ bind: anyPort, environment: environment.name, hosts: [] }],
    callbacks: [],
    admin: anyPort,
    adminHosts: [],
    status: anyPort,
    environments: new Map([[environment.name, environment]]),
    tokens: { cache: "memory" },
    timeouts: { requestMs: 5_000, connectMs: 1_000, tokenMs: 2_000, ...options.timeouts },
    limits: {
      inFlightPerEnvironment: 256,
      connections: 1_024,
      bodyBytes: 262_144,
      responseHeaderBytes: 65_536,
      ...options.limits,
    },
    log: { level: "info", upstreamHeaders: ["x-request-id"] },
    readiness: "listening",
    metrics: { sites: "named" },
    reload: { unreadyAfterRefusalMs: undefined },
    drain: { minMs: 0 },
    acknowledge: [],
    hash: "0123456789ab",
    ...options.config,
  };
}

function describeEnvironment(options: StageOptions, simulator: Simulator): Environment {
  return environmentOf(describeSites(options), {
    baseUrl: addressOf(options.baseUrl ?? simulator.apiUrl),
    authUrl: addressOf(options.authUrl ?? simulator.loginUrl),
    operations: new Set(["create_order", "get_order"]),
    defaultSite: oauthSite,
    ...options.environment,
  });
}

function describeSites({ site = {}, oneSet = false, withBoth = false }: StageOptions): Site[] {
  const blue = credentialSet(oauthSite, "blue", canaries.blue);
  const green = credentialSet(oauthSite, "green", canaries.green);
  const credentials = { owner: oauthSite, sets: oneSet ? ([blue] as const) : ([blue, green] as const) };
  const both = credentialSet(bothSite, "both", canaries.both);
  const keyOne = signingKey("K2000000001", canaries.keyOne);
  const keyTwo = signingKey("K2000000002", canaries.keyTwo);
  const keyFive = signingKey("K2000000005", canaries.keyOne);
  const bothWays: Partial<Site> = { keys: [keyFive], credentials: { owner: bothSite, sets: [both] } };
  return [
    siteOf(oauthSite, { credentials, ...site }),
    siteOf(childSite, { parent: oauthSite, credentials, ...site }),
    siteOf(hmacSite, { auth: ["hmac"], keys: [keyOne, keyTwo], ...site }),
    ...(withBoth ? [siteOf(bothSite, { auth: ["oauth", "hmac"], ...bothWays, ...site })] : []),
  ];
}

function credentialSet(site: string, name: string, secret: string): CredentialSet {
  return { label: `${site}/${name}`, name, clientId: `${name}-id`, clientSecret: new Secret(secret), audience };
}

function signingKey(identifier: string, secret: string): SigningKey {
  return { identifier, version: "3.0", secret: new Secret(secret) };
}

function portOf(bind: Binds["admin"]): number {
  if (bind.kind !== "tcp") throw new Error("the stage listens on TCP");
  return bind.port;
}
