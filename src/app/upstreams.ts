import { openPool } from "../adapters/http-client/pools.ts";
import { createPostForm } from "../adapters/http-client/post-form.ts";
import { createSend } from "../adapters/http-client/send.ts";
import type { Config } from "../config/config.ts";
import { fingerprint, fingerprintOf } from "../config/hash.ts";
import type { Clock } from "../model/clock.ts";
import type { Address, Environment } from "../model/environment.ts";
import type { PostForm } from "../oauth/token-endpoint.ts";
import type { Send } from "../proxy/messages.ts";
import { EnvironmentPools, type KindOfPool } from "./environment-pools.ts";
import type { Reloadable } from "./reloadable.ts";

/** The ways out of the process. */
export interface Upstreams extends Reloadable {
  readonly send: Send;
  readonly postFormOf: (environment: Environment) => PostForm;
  /** Ends all connections. */
  close(): Promise<void>;
}

const service: KindOfPool = {
  addressOf: ({ baseUrl }) => baseUrl,
  keyOf: ({ name, baseUrl, tls }, { timeouts, limits }) =>
    fingerprint([name, baseUrl.origin, fingerprintOf(tls), timeouts, limits.inFlightPerEnvironment]),
  open: (address, { tls }, { timeouts, limits }) =>
    openPool({
      address,
      tls,
      connectTimeoutMs: timeouts.connectMs,
      connections: limits.inFlightPerEnvironment,
    }),
};

/** One fetch a set at a time, and few sets. */
const loginConnections = 8;

/** Of an environment with credentials, which the configuration is not taken without. */
export function authUrlOf({ authUrl }: Environment): Address {
  if (authUrl === undefined) throw new Error("an environment with credentials has an authUrl");
  return authUrl;
}

/** All that the connections to an environment's authorization server are made from, and so the sources that use them. */
export function loginKey({ name, authUrl, tls }: Environment, { timeouts }: Config): string {
  return fingerprint([name, authUrl?.origin, fingerprintOf(tls), timeouts]);
}

const login: KindOfPool = {
  addressOf: ({ authUrl }) => authUrl,
  keyOf: loginKey,
  open: (address, { tls }, { timeouts }) =>
    openPool({ address, tls, connectTimeoutMs: timeouts.connectMs, connections: loginConnections }),
};

/** Pools lead to the configured hosts and to no others. A request uses those of the configuration that accepted it. */
export function openUpstreams(clock: Clock): Upstreams {
  const services = new EnvironmentPools(service, clock);
  const logins = new EnvironmentPools(login, clock);
  return {
    send: createSend((environment) => services.of(environment), clock),
    postFormOf: (environment) =>
      createPostForm(logins.of(environment), `${authUrlOf(environment).path}/oauth/token`, clock),
    prepare(config) {
      services.prepare(config);
      logins.prepare(config);
    },
    commit(config) {
      services.keepOnly(config);
      logins.keepOnly(config);
    },
    async close() {
      await Promise.all([services.destroy(), logins.destroy()]);
    },
  };
}
