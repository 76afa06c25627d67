import { ConnectionPool } from "../adapters/http-client/connection-pool.ts";
import { createSend } from "../adapters/http-client/exchange.ts";
import { createPostTokenRequest } from "../adapters/http-client/post.ts";
import { signAssertion } from "../adapters/jose/sign-assertion.ts";
import type { Config } from "../config/config.ts";
import { fingerprint } from "../config/hash.ts";
import type { Clock } from "../model/clock.ts";
import { type Address, type CredentialSet, credentialSetsOf, type Environment } from "../model/environment.ts";
import { tokenUrlOf } from "../model/token-settings.ts";
import { fetchDeadlineMs, type TokenEndpoint } from "../oauth/token-endpoint.ts";
import type { Send } from "../proxy/messages.ts";
import { type ConnectSettingsOf, connectionKeyOf, createConnectSettings } from "./connect-settings.ts";
import { KeyedResources, type Reloadable } from "./keyed-resources.ts";

/** The connections to services and authorization servers. A request uses those of the configuration that accepted it. */
export interface Upstreams extends Reloadable {
  readonly send: Send;
  readonly tokenEndpointOf: (environment: Environment, set: CredentialSet) => TokenEndpoint;
  /** Ends all connections. */
  close(): Promise<void>;
}

/** One token request a set at a time, and few sets. */
const authConnections = 8;
/** A pool outlives the deadline of its last user by this much. */
const lingerMarginMs = 1_000;

/** Opens a pool for each environment and host: they lead to the configured hosts and to no others. */
export function openUpstreams(
  clock: Clock,
  connectSettingsOf: ConnectSettingsOf = createConnectSettings(clock, () => {}),
): Upstreams {
  const pools = new KeyedResources<ConnectionPool>(clock, {
    retire: (pool) => pool.close(),
    close: (pool) => pool.destroy(),
  });
  const servicePools = new WeakMap<Environment, ConnectionPool>();
  /** By origin. */
  const authPools = new WeakMap<Environment, ReadonlyMap<string, ConnectionPool>>();

  return {
    send: createSend((environment) => opened(servicePools.get(environment))),
    tokenEndpointOf(environment, set) {
      const { origin, path } = tokenUrlOf(environment, set);
      const pool = opened(authPools.get(environment)?.get(origin));
      return { post: createPostTokenRequest(pool, path, clock), sign: signAssertion };
    },

    prepare(config) {
      const connectTimeoutMs = config.timeouts.connectMs;
      const lingerMs = Math.max(config.timeouts.requestMs, fetchDeadlineMs) + lingerMarginMs;
      const prepared = (key: string, environment: Environment, address: Address, connections: number) => {
        const settings = { ...connectSettingsOf(environment, address), connectTimeoutMs, connections };
        return pools.prepare(key, () => new ConnectionPool(settings, clock), lingerMs);
      };
      for (const environment of config.environments.values()) {
        const { baseUrl } = environment;
        const connections = config.limits.inFlightPerEnvironment;
        servicePools.set(environment, prepared(servicePoolKey(environment, config), environment, baseUrl, connections));
        const own = authorizationServersOf(environment).map((address): [string, ConnectionPool] => {
          const key = authPoolKey(environment, address, config);
          return [address.origin, prepared(key, environment, address, authConnections)];
        });
        authPools.set(environment, new Map(own));
      }
    },

    commit(config) {
      pools.commit(
        [...config.environments.values()].flatMap((environment) => [
          servicePoolKey(environment, config),
          ...authorizationServersOf(environment).map((address) => authPoolKey(environment, address, config)),
        ]),
      );
    },

    close: () => pools.close(),
  };
}

/** All that a pool is made from: configurations that agree in it share the pool. */
function servicePoolKey(environment: Environment, { timeouts, limits }: Config): string {
  return fingerprint([
    "service",
    ...connectionKeyOf(environment, environment.baseUrl),
    limits.inFlightPerEnvironment,
    timeouts,
  ]);
}

/** The same for the pool to an authorization server. */
export function authPoolKey(environment: Environment, address: Address, { timeouts }: Config): string {
  return fingerprint(["authorization server", ...connectionKeyOf(environment, address), timeouts]);
}

/** Where an environment's tokens come from; sets whose endpoints are on one host share its connections. */
export function authorizationServersOf(environment: Environment): Address[] {
  const { authUrl } = environment;
  const endpoints = credentialSetsOf(environment).map(({ set }) => tokenUrlOf(environment, set));
  const all = authUrl === undefined ? endpoints : [authUrl, ...endpoints];
  return [...new Map(all.map((address) => [address.origin, address])).values()];
}

function opened(pool: ConnectionPool | undefined): ConnectionPool {
  if (pool === undefined) throw new Error("every environment that is served has its pools");
  return pool;
}
