import { type Simulator, startSimulator } from "../simulator/src/service/simulator.ts";
import type { SimulatedSite } from "../simulator/src/service/sites.ts";
import type { Outcome } from "../src/model/errors.ts";
import type { RefreshReason } from "../src/model/events.ts";
import { ConfigWriter, sandboxConfig } from "./config-writer.ts";
import { Children, type Serving, startServing } from "./processes.ts";
import { openRedis, type RealRedis, type RedisOptions } from "./redis.ts";

// For scripts: what tests have ends with the test, see fleet.ts.

/** The lines of a replica's log that scripts listen to, as `countersign serve` writes them. */
export type LogLine =
  | {
      readonly event: "request_finished";
      readonly reference?: string;
      readonly status: number;
      readonly outcome: Outcome;
    }
  | { readonly event: "token_requested"; readonly reason: RefreshReason; readonly result: string }
  | { readonly event: "config_applied" }
  | { readonly event: "defect"; readonly error: string };

const heard = /"event":"(request_finished|token_requested|config_applied|defect)"/;

export const oauthSite = "S1000000001";
export const hmacSite = "S1000000003";

/** One for each method of authentication. The secrets are made up and public, and easy to find where they must not be. */
export const simulatedSites: readonly SimulatedSite[] = [
  {
    identifier: oauthSite,
    credentials: [
      { clientId: "client-blue", clientSecret: "canary-client-secret-blue", audience: "https://api.sandbox.example" },
    ],
  },
  { identifier: hmacSite, keys: [{ identifier: "K2000000001", secret: "canary-api-secret-key-one" }] },
];

/** What the replicas share. */
export interface Shared {
  readonly simulator: Simulator;
  readonly redis: RealRedis;
  readonly children: Children;
  /**
   * Puts a replica's configuration in its place, whole, and returns its file.
   * @param more further top-level keys
   */
  writeConfig(replica: string, port: number, more?: object): string;
  /** Ends all of it, the replicas first. */
  close(): Promise<void>;
}

export interface SharedOptions {
  /** A part of the folder's name. */
  readonly name: string;
  /** Default: both. */
  readonly sites?: readonly SimulatedSite[];
  readonly tokenLifetimeSeconds: number;
  readonly redis?: RedisOptions;
}

/** The simulated service, a Redis, and a folder of configurations and secrets. None of it outlives this process. */
export async function openShared({
  name,
  sites = simulatedSites,
  tokenLifetimeSeconds,
  redis: options,
}: SharedOptions): Promise<Shared> {
  const children = new Children();
  const redis = await openRedis(options);
  const simulator = await startSimulator({ sites, tokenLifetimeSeconds });
  const writer = new ConfigWriter(name);
  const sandbox = { baseUrl: simulator.apiUrl, authUrl: simulator.loginUrl, sites: writer.sites(sites) };
  const shared = {
    tokens: { cache: "redis" },
    redis: { url: redis.url, encryptionKeys: [writer.newKey("token-key")] },
  };
  return {
    simulator,
    redis,
    children,
    writeConfig: (replica, port, more) =>
      writer.config(`${replica}.yaml`, sandboxConfig([`127.0.0.1:${port}`], sandbox, { ...shared, ...more })),
    async close() {
      await children.endAll();
      await Promise.all([simulator.stop(), redis.end()]);
      writer.remove();
    },
  };
}

/** One proxy process: the built command. */
export interface Replica extends Serving {
  readonly name: string;
}

export interface ReplicasOptions {
  readonly onLine: (replica: string, line: LogLine) => void;
  /** It is removed: it may be told to end now. */
  readonly onRemoved?: (replica: Replica) => void;
  /** Further top-level keys of their configurations. */
  readonly more?: object;
  /** Options of Node itself. */
  readonly nodeArgs?: readonly string[];
  /** Receives every line of the log as it is written. */
  readonly onText?: (replica: string, text: string) => void;
}

/** The replicas that are meant to be alive, by their names. */
export class Replicas {
  readonly #alive = new Map<string, Replica>();
  readonly #shared: Shared;
  readonly #options: ReplicasOptions;
  /** Replicas that ended although they were not asked to, in a sentence each. */
  readonly accidents: string[] = [];

  constructor(shared: Shared, options: ReplicasOptions) {
    this.#shared = shared;
    this.#options = options;
  }

  get names(): readonly string[] {
    return [...this.#alive.keys()];
  }

  get replicas(): readonly Replica[] {
    return [...this.#alive.values()];
  }

  /** @throws Error with what the process said, when it does not start */
  async start(name: string): Promise<Replica> {
    const { onLine, onText, more, nodeArgs = [] } = this.#options;
    const serving = await startServing({
      children: this.#shared.children,
      writeConfig: (port) => this.#shared.writeConfig(name, port, more),
      nodeArgs,
      onLine(text) {
        onText?.(name, text);
        if (heard.test(text)) onLine(name, JSON.parse(text));
      },
    });
    const replica = { ...serving, name };
    this.#alive.set(name, replica);
    void replica.process.ended.then((end) => {
      if (this.#alive.get(name) !== replica) return;
      this.remove(name);
      this.accidents.push(`replica ${name} ended by itself (${end}) ${replica.process.complaints()}`.trim());
    });
    return replica;
  }

  /** Its end is no accident from here on. */
  remove(name: string): Replica {
    const replica = this.#alive.get(name);
    if (replica === undefined) throw new Error(`there is no replica ${name}`);
    this.#alive.delete(name);
    this.#options.onRemoved?.(replica);
    return replica;
  }

  clear(): void {
    for (const name of this.names) this.remove(name);
  }
}
