import { createSend } from "../adapters/http-client/attempt.ts";
import { openPool, type Pool } from "../adapters/http-client/pools.ts";
import { createPostForm } from "../adapters/http-client/post-form.ts";
import type { Config } from "../config/config.ts";
import { fingerprint, fingerprintOf } from "../config/hash.ts";
import type { Clock } from "../model/clock.ts";
import type { Address, Environment } from "../model/environment.ts";
import { fetchDeadlineMs, type PostForm } from "../oauth/token-endpoint.ts";
import type { Send } from "../proxy/messages.ts";
import { KeyedResources, type Reloadable } from "./keyed-resources.ts";

/** The connections to services and authorization servers. A request uses those of the configuration that accepted it. */
export interface Upstreams extends Reloadable {
  readonly send: Send;
  readonly postFormOf: (environment: Environment) => PostForm;
  /** Ends all connections. */
  close(): Promise<void>;
}

/** What a pool leads to. */
type Destination = "service" | "authorization server";

/** One token request a set at a time, and few sets. */
const authConnections = 8;
/** A pool outlives the deadline of its last user by this much. */
const lingerMarginMs = 1_000;

/** Opens a pool for each environment and destination: they lead to the configured hosts and to no others. */
export function openUpstreams(clock: Clock): Upstreams {
  const pools = new KeyedResources<Pool>(clock, { retire: (pool) => pool.close(), close: (pool) => pool.destroy() });
  const servicePools = new WeakMap<Environment, Pool>();
  const authPools = new WeakMap<Environment, Pool>();

  const prepare = (destination: Destination, address: Address, environment: Environment, config: Config): Pool => {
    const { timeouts, limits } = config;
    const connections = destination === "service" ? limits.inFlightPerEnvironment : authConnections;
    const settings = { address, tls: environment.tls, connectTimeoutMs: timeouts.connectMs, connections };
    const lingerMs = Math.max(timeouts.requestMs, fetchDeadlineMs) + lingerMarginMs;
    return pools.prepare(poolKey(destination, environment, config), () => openPool(settings), lingerMs);
  };

  return {
    send: createSend((environment) => poolIn(servicePools, environment), clock),
    postFormOf: (environment) =>
      createPostForm(poolIn(authPools, environment), `${authUrlOf(environment).path}/oauth/token`, clock),

    prepare(config) {
      for (const environment of config.environments.values()) {
        const { baseUrl, authUrl } = environment;
        servicePools.set(environment, prepare("service", baseUrl, environment, config));
        if (authUrl === undefined) continue;
        authPools.set(environment, prepare("authorization server", authUrl, environment, config));
      }
    },

    commit(config) {
      const environments = [...config.environments.values()];
      const destinations = ["service", "authorization server"] as const;
      pools.commit(destinations.flatMap((to) => environments.map((environment) => poolKey(to, environment, config))));
    },

    close: () => pools.close(),
  };
}

/** All that a pool is made from: configurations that agree in it share the pool. */
export function poolKey(destination: Destination, environment: Environment, { timeouts, limits }: Config): string {
  const { name, baseUrl, authUrl, tls } = environment;
  const own = destination === "service" ? [baseUrl.origin, limits.inFlightPerEnvironment] : [authUrl?.origin];
  return fingerprint([destination, name, ...own, fingerprintOf(tls), timeouts]);
}

/** The authorization server of an environment with credentials; the configuration is refused without one. */
export function authUrlOf({ authUrl }: Environment): Address {
  if (authUrl === undefined) throw new Error("an environment with credentials has an authUrl");
  return authUrl;
}

function poolIn(pools: WeakMap<Environment, Pool>, environment: Environment): Pool {
  const pool = pools.get(environment);
  if (pool === undefined) throw new Error("every environment that is served has its pools");
  return pool;
}
