import { exchange } from "../adapters/http-client/attempt.ts";
import { type ConnectSettings, createConnect, type TunnelReport } from "../adapters/http-client/connect.ts";
import { Pool, type PoolSettings } from "../adapters/http-client/connection-pool.ts";
import { createDeliver, createTokenRequests } from "../adapters/http-client/read-whole.ts";
import { explainTransportError } from "../adapters/http-client/transport-error.ts";
import type { loadHttpProxy, StreamPool } from "../adapters/http-proxy/exchange.ts";
import { signAssertion } from "../adapters/jose/sign-assertion.ts";
import type { CallbackListenerConfig, Config } from "../config/config.ts";
import { codeOf, readRegularFile } from "../config/files/file-system.ts";
import { fingerprint, fingerprintOf } from "../config/hash.ts";
import { dropNewline } from "../config/rules/load-context.ts";
import { type Clock, LogThrottle, within } from "../model/clock.ts";
import { type Address, type Environment, egressTo, placeOf } from "../model/environment.ts";
import type { Report } from "../model/events.ts";
import { parseAssertion, type TokenEndpoint } from "../oauth/token-endpoint.ts";
import type { SendStream } from "../pass-through/messages.ts";
import type { Send } from "../serving/messages.ts";
import { KeyedResources, lingerMarginMs, poolEndings } from "./keyed-resources.ts";

type Application = CallbackListenerConfig["application"];

/**
 * All connections that this process makes, except to Redis and a collector of spans. They lead to the configured hosts and to
 * no others. A request uses the connections of the configuration that accepted it.
 */
export type Upstreams = ReturnType<typeof openUpstreams>;

/**
 * A set has one token request at a time, and there are few sets. Each request has its own connection: tokens are requested
 * seldom, and an idle connection whose network is gone would swallow the request.
 */
const toAuthorizationServer = { connections: 8, requestsPerConnection: 1 };

export function openUpstreams(clock: Clock, report: Report = () => {}) {
  const connectSettingsOf = createConnectSettings(clock, report);
  const readAssertion = createReadAssertion(clock);
  const pools = new KeyedResources<Pool>(clock, poolEndings);
  const streamPools = new KeyedResources<StreamPool>(clock, poolEndings);
  const poolOf = new WeakMap<Environment | Application, Pool>();
  /** Streams last, and take no connection of an operation. */
  const bodilessPoolOf = new WeakMap<Environment, Pool>();
  const streamPoolOf = new WeakMap<Environment, StreamPool>();
  let proxy: Awaited<ReturnType<typeof loadHttpProxy>> | undefined;

  async function prepareStreams(config: Config, lingerMs: number): Promise<void> {
    const routed = [...config.environments.values()].filter(({ passThrough }) => passThrough !== undefined);
    if (routed.length === 0) return;
    // A process without pass-through routes saves the memory of this module.
    const { loadHttpProxy, openStreamPool } = await import("../adapters/http-proxy/exchange.ts");
    proxy ??= await loadHttpProxy();
    const loaded = proxy;
    for (const environment of routed) {
      const { baseUrl, requestsPerConnection } = environment;
      const open = () => {
        const to = { ...connectSettingsOf(environment, baseUrl), connectTimeoutMs: config.timeouts.connectMs };
        const settings = {
          connect: createConnect(to, clock),
          authority: new URL(baseUrl.origin).host,
          explain: explainTransportError,
          requests: config.limits.inFlightPerEnvironment,
          requestsPerConnection,
          responseHeaderBytes: config.limits.responseHeaderBytes,
        };
        return openStreamPool(loaded, settings, clock);
      };
      streamPoolOf.set(environment, streamPools.prepare(config, servicePoolKey(environment, config), open, lingerMs));
    }
  }

  return {
    /** Sends to the service of an environment. */
    sendTo(environment: Environment): Send {
      const pool = opened(poolOf.get(environment));
      return (request, deadlineMs, onConnected, onLongHead) =>
        exchange(pool, request, deadlineMs, { onConnected, onLongHead });
    },
    /** The same for pass-through routes, on connections of their own; http-proxy sends bodies, and requests for WebSocket. */
    sendStreamTo(environment: Environment): SendStream {
      const pool = opened(bodilessPoolOf.get(environment));
      const streamPool = opened(streamPoolOf.get(environment));
      return (request, control) =>
        request.body === undefined && !request.upgrades
          ? exchange(pool, request, control.deadlineMs, control)
          : streamPool.send(request, control);
    },
    /**
     * The token endpoint of an authorization server.
     * @param authPoolKey see `authPoolKey`; its configuration must be prepared
     */
    tokenEndpointOf({ authPoolKey, tokenUrl }: { authPoolKey: string; tokenUrl: Address }): TokenEndpoint {
      const requests = createTokenRequests(opened(pools.get(authPoolKey)), tokenUrl.path, clock);
      return { ...requests, sign: signAssertion, readAssertion };
    },
    /** Delivers to the application of a listener for callbacks. */
    deliverTo: (application: Application) => createDeliver(opened(poolOf.get(application))),

    async prepare(config: Config): Promise<void> {
      const { timeouts } = config;
      const { requestMs, connectMs: connectTimeoutMs, tokenMs } = timeouts;
      const { inFlightPerEnvironment: connections, responseHeaderBytes } = config.limits;
      const lingerMs = Math.max(requestMs, tokenMs) + lingerMarginMs;
      const common = { connectTimeoutMs, responseHeaderBytes };
      const prepared = (key: string, settings: Omit<PoolSettings, keyof typeof common>) =>
        pools.prepare(config, key, () => new Pool({ ...settings, ...common }, clock), lingerMs);
      for (const environment of config.environments.values()) {
        const { baseUrl, requestsPerConnection } = environment;
        const settings = { ...connectSettingsOf(environment, baseUrl), connections, requestsPerConnection };
        const key = servicePoolKey(environment, config);
        poolOf.set(environment, prepared(key, settings));
        if (environment.passThrough !== undefined) {
          // A retry has a connection of its own while the first answer is still being received.
          const streams = { ...settings, connections: 2 * connections };
          bodilessPoolOf.set(environment, prepared(fingerprint([key, "without a body"]), streams));
        }
        for (const address of authorizationServersOf(environment)) {
          const to = { ...connectSettingsOf(environment, address), ...toAuthorizationServer };
          prepared(authPoolKey(environment, address, config), to);
        }
      }
      for (const { application } of config.callbacks) {
        const { url: address, tls } = application;
        const settings = { address, tls, connections };
        // Listeners for callbacks may share a pool.
        const parts = ["application", address.origin, fingerprintOf(tls), connections, responseHeaderBytes, timeouts];
        const key = fingerprint(parts);
        poolOf.set(application, prepared(key, settings));
      }
      await prepareStreams(config, lingerMs);
    },

    commit(config: Config): void {
      pools.commit(config);
      streamPools.commit(config);
    },

    /** Ends the requests under way, and fails later ones. */
    cut(): void {
      for (const pool of [...pools.values(), ...streamPools.values()]) void pool.destroy();
    },

    /** Ends all connections. */
    async close(): Promise<void> {
      await Promise.all([pools.close(), streamPools.close()]);
    },
  };
}

/** A hanging disk delays a token request, or a scrape, by no more than this. */
const longestReadMs = 1_000;

/** Reads assertions from their files, anew each time. The cause of a failure names the file, and never its content. */
export function createReadAssertion(clock: Clock, readFile = readRegularFile): TokenEndpoint["readAssertion"] {
  return async (file) => {
    const reading = readFile(file).then(({ bytes }) => parseAssertion(dropNewline(bytes).toString()), codeOf);
    const read = (await within(clock, reading, longestReadMs)) ?? "not read in time";
    return typeof read === "string" ? { kind: "failed", cause: `assertion file ${file}: ${read}` } : read;
  };
}

type ConnectSettingsOf = (environment: Environment, address: Address) => Omit<ConnectSettings, "connectTimeoutMs">;

/**
 * The settings of connections to a host of an environment, direct or through its forward proxy. All tunnels are reported, and
 * the log has each failure once a minute.
 */
function createConnectSettings(clock: Clock, report: Report): ConnectSettingsOf {
  const tunnelLog = new LogThrottle(clock);
  return (environment, address) => {
    const { name, tls } = environment;
    const egress = egressTo(environment, address);
    if (egress === undefined) return { address, tls };
    const about = { environment: name, proxy: placeOf(egress.proxy), destination: placeOf(address) };
    const onTunnel = (tunnel: TunnelReport) => {
      const isFirst = tunnel.cause !== undefined && tunnelLog.isFirst(`${name} ${tunnel.cause}`);
      report({ kind: "tunnel_requested", ...about, ...tunnel, isFirst });
    };
    return { address, tls, egress: { ...egress, onTunnel } };
  };
}

/** A fingerprint of everything that a pool is made from: configurations with the same key share the pool. */
function servicePoolKey(environment: Environment, { timeouts, limits }: Config): string {
  const to = connectionKeyOf(environment, environment.baseUrl);
  return fingerprint(["service", ...to, limits.inFlightPerEnvironment, limits.responseHeaderBytes, timeouts]);
}

/** The same for the pool to an authorization server. */
export function authPoolKey(environment: Environment, address: Address, { timeouts, limits }: Config): string {
  const to = connectionKeyOf(environment, address);
  return fingerprint(["authorization server", ...to, limits.responseHeaderBytes, timeouts]);
}

/** All settings that decide how a host of the environment is reached. */
function connectionKeyOf(environment: Environment, address: Address): unknown[] {
  const { name, tls, requestsPerConnection } = environment;
  const { proxy, tls: proxyTls, credentials } = egressTo(environment, address) ?? {};
  return [name, address.origin, fingerprintOf(tls), requestsPerConnection, proxy?.origin, proxyTls, credentials];
}

/** The authorization servers of an environment; sets whose endpoints are on one host share its connections. */
export function authorizationServersOf(environment: Environment): Address[] {
  const { authUrl, sites } = environment;
  const servers = new Map<string, Address>();
  if (authUrl !== undefined) servers.set(authUrl.origin, authUrl);
  for (const { credentials } of sites.values()) {
    for (const { token } of credentials?.sets ?? [])
      if (token?.url !== undefined) servers.set(token.url.origin, token.url);
  }
  return [...servers.values()];
}

function opened<Resource>(pool: Resource | undefined): Resource {
  if (pool === undefined) throw new Error("a configuration is prepared before it serves");
  return pool;
}
