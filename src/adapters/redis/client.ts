import { isIP } from "node:net";
import { Cluster, type ClusterOptions, Redis, type RedisOptions, SentinelConnector } from "ioredis";
import type { Tls } from "../../model/environment.ts";
import type { HostPort, RedisAccess, RedisNode } from "../../model/redis-access.ts";
import { RedisFailure } from "./failure.ts";

export type RedisClient = Redis | Cluster;

/** The constructors insist on a reply mapping that is absent rather than undefined. */
type Options = Omit<RedisOptions, "replyMapping">;

/**
 * A Redis in protected mode answers DENIED to every greeting, and closes. ioredis thinks that the text is about the password,
 * prints it to standard error and continues. Thrown as a RedisFailure, it says why the connection failed.
 */
for (const greeting of ["hello", "auth"] as const) {
  const greet: (...words: never) => Promise<unknown> = Redis.prototype[greeting];
  const greetOrExplain = function (this: Redis, ...words: never) {
    return greet.apply(this, words).catch((error: unknown) => {
      throw error instanceof Error && error.message.startsWith("DENIED ")
        ? new RedisFailure("protected_mode", "DENIED")
        : error;
    });
  };
  Object.assign(Redis.prototype, { [greeting]: greetOrExplain });
}

/**
 * Each Sentinel, and the master that it names, gets the name of its host (SNI). An unreachable Sentinel is no failure while
 * another answers. Unhandled, ioredis prints each failed try to listen for failovers.
 */
const { connectToSentinel, resolve } = SentinelConnector.prototype as unknown as SentinelSteps;
Object.assign(SentinelConnector.prototype, {
  connectToSentinel(this: SentinelSteps, sentinel, more) {
    const { sentinelTLS } = this.options;
    const tls = sentinelTLS && { tls: { ...sentinelTLS, ...serverName(sentinel.host) } };
    return connectToSentinel.call(this, sentinel, { ...more, ...tls }).on("error", () => {});
  },
  async resolve(this: SentinelSteps, sentinel) {
    const master = await resolve.call(this, sentinel);
    return master && { ...master, ...serverName(master.host) };
  },
} satisfies Partial<SentinelSteps>);

/** The private steps of a SentinelConnector that are changed. */
interface SentinelSteps {
  readonly options: Pick<RedisOptions, "sentinelTLS">;
  connectToSentinel(sentinel: { host?: string | undefined }, more?: RedisOptions): Redis;
  resolve(sentinel: object): Promise<{ host?: string; port?: number } | null>;
}

const connectTimeoutMs = 500;
/** For the greeting of a new connection; with the defaults of ioredis a hanging Redis gave no answer for 15 s. */
const handshakeTimeoutMs = 500;
/** Until a lost Sentinel is asked again for news of failovers. */
const sentinelReconnectMs = 2_000;
/** The network may have lost the other side. */
const disconnectTimeoutMs = 100;

const never = () => null;

/**
 * Nothing waits in a queue: a command is answered in time, or it has failed. A client has one connection, and ends with it.
 */
const bounded: Options = {
  lazyConnect: true,
  retryStrategy: never,
  commandTimeout: handshakeTimeoutMs,
  connectTimeout: connectTimeoutMs,
  disconnectTimeout: disconnectTimeoutMs,
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxLoadingRetryTime: 1_000,
  // CLIENT is not among the commands that the ACL user needs.
  disableClientInfo: true,
};

/**
 * A client for the Redis where replicas share tokens. It does not connect yet.
 * @param turn how many clients came before: each begins with another Sentinel, since one may name a former master
 */
export function createCacheClient(access: RedisAccess, turn = 0): RedisClient {
  const { place, tls } = access;
  switch (place.kind) {
    case "standalone":
      return createNodeClient(place.node, access);
    case "sentinel":
      return new Redis({
        ...bounded,
        ...login(access),
        sentinels: place.nodes.map((_, index) => ({ ...place.nodes[(index + turn) % place.nodes.length] })),
        name: place.master,
        role: "master",
        sentinelRetryStrategy: never,
        sentinelCommandTimeout: connectTimeoutMs,
        // A master that hung and was replaced still answers on its old connection, but all writes to it are lost.
        failoverDetector: true,
        sentinelReconnectStrategy: () => sentinelReconnectMs,
        ...(place.password && { sentinelPassword: place.password.reveal() }),
        ...(tls && { tls: tlsOptions(tls), sentinelTLS: tlsOptions(tls), enableTLSForSentinelMode: true }),
      });
    case "cluster":
      return createClusterClient(place.nodes, access);
  }
}

/** A client for one server. */
export function createNodeClient(node: RedisNode, access: RedisAccess): Redis {
  // A server that loads its data says so to the first command.
  const own = { ...bounded, ...login(access), db: node.db, enableReadyCheck: false };
  if (node.kind === "unix") return new Redis({ ...own, path: node.path });
  const { host, port } = node;
  return new Redis({
    ...own,
    host,
    port,
    ...(node.tls && { tls: { ...tlsOptions(access.tls), ...serverName(host) } }),
  });
}

function createClusterClient(nodes: readonly HostPort[], access: RedisAccess): Cluster {
  const { tls } = access;
  const options: Omit<ClusterOptions, "redisOptions"> = {
    lazyConnect: true,
    // A node is connected at its first command, and commands until then have to wait.
    enableOfflineQueue: true,
    clusterRetryStrategy: never,
    slotsRefreshTimeout: connectTimeoutMs,
    // A command's time is short: it follows one redirection and waits for nothing.
    maxRedirections: 2,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    retryDelayOnTryAgain: 0,
    // Certificates contain host names, so host names are kept as they are.
    ...(tls && { dnsLookup: (host, done) => done(null, host) }),
  };
  const redisOptions = { ...bounded, ...login(access), ...(tls && { tls: tlsOptions(tls) }) };
  return new Cluster([...nodes], { ...options, redisOptions }).on("+node", (node: Redis) => {
    const { host, tls: own } = node.options;
    if (own !== undefined) node.options.tls = { ...own, ...serverName(host) };
    ignoreAskingFailures(node);
  });
}

/** While a slot moves, ioredis sends ASKING and does not handle its promise: a rejection would end the process. */
function ignoreAskingFailures(node: Redis): void {
  const asking = node.asking.bind(node);
  node.asking = () => {
    const asked = asking();
    asked.catch(() => {});
    return asked;
  };
}

function login({ username, password }: RedisAccess): Options {
  return {
    ...(username === undefined ? {} : { username }),
    ...(password && { password: password.reveal() }),
  };
}

/** The name by which a front finds the server (SNI). An address is none (RFC 6066 section 3), and Node sends none by itself. */
function serverName(host = ""): { servername?: string } {
  return isIP(host) === 0 ? { servername: host.replace(/\.$/, "") } : {};
}

function tlsOptions(tls: Tls | undefined): NonNullable<RedisOptions["tls"]> {
  return { minVersion: "TLSv1.2", ca: tls?.ca, cert: tls?.cert, key: tls?.key?.reveal() };
}
