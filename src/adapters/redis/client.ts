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
      throw error instanceof Error && error.message.startsWith("DENIED ") ? new RedisFailure("protected_mode") : error;
    });
  };
  Object.assign(Redis.prototype, { [greeting]: greetOrExplain });
}

/** An unreachable Sentinel is no failure while another answers. Unhandled, ioredis prints each failed try to listen for failovers. */
const connectToSentinel = SentinelConnector.prototype["connectToSentinel"];
Object.assign(SentinelConnector.prototype, {
  connectToSentinel(this: SentinelConnector, ...at: Parameters<typeof connectToSentinel>) {
    return connectToSentinel.apply(this, at).on("error", () => {});
  },
});

const connectTimeoutMs = 500;
/** For the greeting of a new connection; with the defaults of ioredis a hanging Redis gave no answer for 15 s. */
const handshakeTimeoutMs = 500;
const longestReconnectMs = 2_000;

const reconnect = (tries: number) => Math.min(50 * 2 ** Math.min(tries, 10), longestReconnectMs);

/** Nothing waits in a queue and nothing is sent twice: a command is answered in time, or it has failed. */
const bounded: Options = {
  lazyConnect: true,
  commandTimeout: handshakeTimeoutMs,
  connectTimeout: connectTimeoutMs,
  disconnectTimeout: connectTimeoutMs,
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxLoadingRetryTime: 1_000,
  // CLIENT is not among the commands that the ACL user needs.
  disableClientInfo: true,
};

/** A client for the Redis where replicas share tokens. It does not connect yet. */
export function createCacheClient(access: RedisAccess): RedisClient {
  const { place, tls } = access;
  switch (place.kind) {
    case "standalone":
      return createNodeClient(place.node, access);
    case "sentinel":
      return new Redis({
        ...bounded,
        ...login(access),
        retryStrategy: reconnect,
        sentinels: place.nodes.map(({ host, port }) => ({ host, port })),
        name: place.master,
        role: "master",
        sentinelRetryStrategy: reconnect,
        sentinelCommandTimeout: connectTimeoutMs,
        // A master that hung and was replaced still answers on its old connection, but all writes to it are lost.
        failoverDetector: true,
        sentinelReconnectStrategy: reconnect,
        ...(place.password && { sentinelPassword: place.password.reveal() }),
        ...(tls && { tls: tlsOptions(tls), sentinelTLS: tlsOptions(tls), enableTLSForSentinelMode: true }),
      });
    case "cluster":
      return createClusterClient(place.nodes, access);
  }
}

/** A client for one server. */
export function createNodeClient(node: RedisNode, access: RedisAccess): Redis {
  const own = { ...bounded, ...login(access), retryStrategy: reconnect, db: node.db };
  if (node.kind === "unix") return new Redis({ ...own, path: node.path });
  const { host, port } = node;
  // SNI is for names: an address in it is an error (RFC 6066 section 3).
  const servername = isIP(host) === 0 ? { servername: host } : {};
  return new Redis({ ...own, host, port, ...(node.tls && { tls: { ...tlsOptions(access.tls), ...servername } }) });
}

function createClusterClient(nodes: readonly HostPort[], access: RedisAccess): Cluster {
  const { tls } = access;
  const options: Omit<ClusterOptions, "redisOptions"> = {
    lazyConnect: true,
    // A node is connected at its first command, and commands until then have to wait.
    enableOfflineQueue: true,
    clusterRetryStrategy: reconnect,
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
  return new Cluster([...nodes], { ...options, redisOptions }).on("+node", ignoreAskingFailures);
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

function tlsOptions(tls: Tls | undefined): NonNullable<RedisOptions["tls"]> {
  return { minVersion: "TLSv1.2", ca: tls?.ca, cert: tls?.cert, key: tls?.key?.reveal() };
}
