import { openPool, type Pool } from "../adapters/undici/pools.ts";
import { createPostForm } from "../adapters/undici/post-form.ts";
import { createSend } from "../adapters/undici/send.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { Address, Environment } from "../environment.ts";
import type { Send } from "../journey/messages.ts";
import type { PostForm } from "../tokens/endpoint.ts";

/** The ways out of the process. */
export interface Upstreams {
  readonly send: Send;
  readonly postFormOf: (environment: Environment) => PostForm;
  /** Ends all connections. */
  close(): Promise<void>;
}

/** One fetch a set at a time, and few sets. */
const loginConnections = 8;

/** Pools are opened once, to the configured hosts and to no others. */
export function openUpstreams(config: Config, clock: Clock): Upstreams {
  const open = (address: Address, environment: Environment, connections: number) =>
    openPool({ address, tls: environment.tls, connectTimeoutMs: config.timeouts.connectMs, connections });
  const services = new Map<string, Pool>();
  const logins = new Map<string, Pool>();
  for (const environment of config.environments.values()) {
    services.set(environment.name, open(environment.baseUrl, environment, config.limits.inFlightPerEnvironment));
    logins.set(environment.name, open(environment.authUrl, environment, loginConnections));
  }
  return {
    send: createSend((environment) => pick(services, environment), clock),
    postFormOf: ({ name, authUrl }) => createPostForm(pick(logins, name), `${authUrl.path}/oauth/token`, clock),
    async close() {
      await Promise.all([...services.values(), ...logins.values()].map((pool) => pool.destroy()));
    },
  };
}

function pick(pools: ReadonlyMap<string, Pool>, environment: string): Pool {
  const pool = pools.get(environment);
  if (pool === undefined) throw new Error("every environment has its pools");
  return pool;
}
