import { ConnectionPool, type PoolSettings } from "../adapters/http-client/connection-pool.ts";
import { createPostForm } from "../adapters/http-client/post-form.ts";
import { createSend } from "../adapters/http-client/send.ts";
import { openPool, type Pool } from "../adapters/http-client/undici-pool.ts";
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
  const services = new PoolsByEnvironment(clock, "service", (settings) => new ConnectionPool(settings, clock));
  const authorizationServers = new PoolsByEnvironment(clock, "authorization server", openPool);

  return {
    send: createSend((environment) => services.of(environment)),
    postFormOf: (environment) =>
      createPostForm(authorizationServers.of(environment), `${authUrlOf(environment).path}/oauth/token`, clock),

    prepare(config) {
      for (const environment of config.environments.values()) {
        services.prepare(environment.baseUrl, environment, config);
        if (environment.authUrl !== undefined) authorizationServers.prepare(environment.authUrl, environment, config);
      }
    },

    commit(config) {
      services.commit(config);
      authorizationServers.commit(config);
    },

    async close() {
      await Promise.all([services.close(), authorizationServers.close()]);
    },
  };
}

/** The pools that lead to one kind of destination. */
class PoolsByEnvironment<AnyPool extends ConnectionPool | Pool> {
  readonly #to: Destination;
  readonly #open: (settings: PoolSettings) => AnyPool;
  readonly #pools: KeyedResources<AnyPool>;
  readonly #byEnvironment = new WeakMap<Environment, AnyPool>();

  constructor(clock: Clock, to: Destination, open: (settings: PoolSettings) => AnyPool) {
    this.#to = to;
    this.#open = open;
    this.#pools = new KeyedResources(clock, { retire: (pool) => pool.close(), close: (pool) => pool.destroy() });
  }

  of(environment: Environment): AnyPool {
    const pool = this.#byEnvironment.get(environment);
    if (pool === undefined) throw new Error("every environment that is served has its pools");
    return pool;
  }

  prepare(address: Address, environment: Environment, config: Config): void {
    const { timeouts, limits } = config;
    const connections = this.#to === "service" ? limits.inFlightPerEnvironment : authConnections;
    const settings = { address, tls: environment.tls, connectTimeoutMs: timeouts.connectMs, connections };
    const lingerMs = Math.max(timeouts.requestMs, fetchDeadlineMs) + lingerMarginMs;
    const key = poolKey(this.#to, environment, config);
    this.#byEnvironment.set(
      environment,
      this.#pools.prepare(key, () => this.#open(settings), lingerMs),
    );
  }

  commit(config: Config): void {
    this.#pools.commit([...config.environments.values()].map((environment) => poolKey(this.#to, environment, config)));
  }

  close(): Promise<void> {
    return this.#pools.close();
  }
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
