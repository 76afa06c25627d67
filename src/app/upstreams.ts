import { createSend } from "../adapters/http-client/attempt.ts";
import { openPool, type Pool } from "../adapters/http-client/pools.ts";
import { createPostForm } from "../adapters/http-client/post-form.ts";
import { signAssertion } from "../adapters/jose/sign-assertion.ts";
import type { Config } from "../config/config.ts";
import { fingerprint, fingerprintOf } from "../config/hash.ts";
import type { Clock } from "../model/clock.ts";
import { type Address, type CredentialSet, credentialSetsOf, type Environment } from "../model/environment.ts";
import { tokenUrlOf } from "../model/token-settings.ts";
import { fetchDeadlineMs, type TokenEndpoint } from "../oauth/token-endpoint.ts";
import type { Send } from "../proxy/messages.ts";
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
export function openUpstreams(clock: Clock): Upstreams {
  const pools = new KeyedResources<Pool>(clock, { retire: (pool) => pool.close(), close: (pool) => pool.destroy() });
  const servicePools = new WeakMap<Environment, Pool>();
  const authPools = new WeakMap<Environment, Map<string, Pool>>();

  const prepare = (key: string, connections: number, address: Address, { tls }: Environment, config: Config): Pool => {
    const { connectMs, requestMs } = config.timeouts;
    const lingerMs = Math.max(requestMs, fetchDeadlineMs) + lingerMarginMs;
    return pools.prepare(key, () => openPool({ address, tls, connectTimeoutMs: connectMs, connections }), lingerMs);
  };

  return {
    send: createSend((environment) => opened(servicePools.get(environment)), clock),
    tokenEndpointOf(environment, set) {
      const { origin, path } = tokenUrlOf(environment, set);
      const pool = authPools.get(environment)?.get(origin);
      return { post: createPostForm(opened(pool), path, clock), sign: signAssertion };
    },

    prepare(config) {
      for (const environment of config.environments.values()) {
        const { inFlightPerEnvironment } = config.limits;
        const serviceKey = servicePoolKey(environment, config);
        servicePools.set(
          environment,
          prepare(serviceKey, inFlightPerEnvironment, environment.baseUrl, environment, config),
        );
        const own = new Map<string, Pool>();
        for (const address of authorizationServersOf(environment)) {
          const key = authPoolKey(environment, address, config);
          own.set(address.origin, prepare(key, authConnections, address, environment, config));
        }
        authPools.set(environment, own);
      }
    },

    commit(config) {
      const keys = [...config.environments.values()].flatMap((environment) => [
        servicePoolKey(environment, config),
        ...authorizationServersOf(environment).map((address) => authPoolKey(environment, address, config)),
      ]);
      pools.commit(keys);
    },

    close: () => pools.close(),
  };
}

/** All that a pool is made from: configurations that agree in it share the pool. */
function servicePoolKey({ name, baseUrl, tls }: Environment, { timeouts, limits }: Config): string {
  return fingerprint(["service", name, baseUrl.origin, limits.inFlightPerEnvironment, fingerprintOf(tls), timeouts]);
}

/** The same for the pool to an authorization server. */
export function authPoolKey({ name, tls }: Environment, { origin }: Address, { timeouts }: Config): string {
  return fingerprint(["authorization server", name, origin, fingerprintOf(tls), timeouts]);
}

/** Where an environment's tokens come from; sets whose endpoints are on one host share its connections. */
export function authorizationServersOf(environment: Environment): Address[] {
  const { authUrl } = environment;
  const endpoints = credentialSetsOf(environment).map(({ set }) => tokenUrlOf(environment, set));
  const all = authUrl === undefined ? endpoints : [authUrl, ...endpoints];
  return [...new Map(all.map((address) => [address.origin, address])).values()];
}

function opened(pool: Pool | undefined): Pool {
  if (pool === undefined) throw new Error("every environment that is served has its pools");
  return pool;
}
