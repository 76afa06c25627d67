import { createRedisRefreshLock } from "../../src/adapters/redis/refresh-lock.ts";
import { lockTrialScript } from "../../src/adapters/redis/scripts.ts";
import { createRedisTokenStore } from "../../src/adapters/redis/token-store.ts";
import type { Clock } from "../../src/model/clock.ts";
import type { CredentialSet } from "../../src/model/environment.ts";
import type { Event } from "../../src/model/events.ts";
import { AddressLimiter } from "../../src/oauth/address-limiter.ts";
import { CredentialFailover } from "../../src/oauth/credential-failover.ts";
import { EndpointBackoff } from "../../src/oauth/endpoint-backoff.ts";
import { ForcedRefreshLimiter } from "../../src/oauth/forced-refresh-limiter.ts";
import { drawThresholds } from "../../src/oauth/token.ts";
import { TokenCache } from "../../src/oauth/token-cache.ts";
import type { AuthorizationServer } from "./authorization-server.ts";
import type { FleetRedis } from "./fleet-redis.ts";
import { ProcessClock } from "./simulated-clock.ts";
import { createClient, TimedConnection } from "./timed-connection.ts";
import type { Work } from "./work.ts";

/** The parts that all replicas share. */
export interface Ground {
  readonly clock: Clock;
  readonly work: Work;
  readonly redis: FleetRedis;
  readonly login: AuthorizationServer;
  readonly set: CredentialSet;
  readonly key: string;
}

export interface ReplicaParts extends Ground {
  /** Unique, also among its predecessors. */
  readonly name: string;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly hear: (event: Event) => void;
  /** Called for each command that is sent to Redis. */
  readonly countCommand: () => void;
}

const site = "S1";
const requestTimeoutMs = 20_000;
const tokenTimeoutMs = 5_000;

/** One process: the objects that src/app makes for one credential set, on a clock that can stop for this process alone. */
export function startReplica({ name, set, key, random, hear, countCommand, ...ground }: ReplicaParts) {
  const clock = new ProcessClock(ground.clock);
  const report = (event: Event) => {
    if (clock.isOver) return;
    hear(event);
    if (event.kind === "redis_up" && event.awayMs !== undefined) source.resync();
  };
  const open = () => createClient(ground.redis, countCommand);
  const connection = new TimedConnection(
    { open, trial: lockTrialScript, node: "cache", address: "redis://cache", clock, random, report },
    ground,
  );
  const source = new TokenCache({
    environment: "fleet",
    set,
    tokenUrl: {
      origin: "https://login.fleet.example",
      scheme: "https",
      host: "login.fleet.example",
      port: 443,
      path: "",
    },
    key,
    store: createRedisTokenStore({ connection, keys: ground.redis.access.encryptionKeys, clock, report }),
    lock: createRedisRefreshLock(connection, [], clock),
    endpoint: ground.login.openEndpoint(name, clock),
    backoff: new EndpointBackoff(clock, random),
    address: new AddressLimiter("https://login.fleet.example", clock, random),
    forcedRefreshes: new ForcedRefreshLimiter(clock),
    thresholds: drawThresholds(random),
    tokenTimeoutMs,
    clock,
    random,
    report,
  });
  const credentials = new CredentialFailover({
    environment: "fleet",
    owner: site,
    candidates: [source],
    tokenTimeoutMs,
    clock,
    report,
  });
  credentials.warm();
  return {
    /** As when an order is proxied: gets a token, and reports that the service accepted it. Resolves to the token's text. */
    async order(): Promise<string> {
      const token = await credentials.get(clock.nowMs() + requestTimeoutMs);
      credentials.accepted(token, site, clock.nowMs());
      return token.secret.reveal();
    },
    /** Memory, timers and connection are lost at once. */
    kill(): void {
      clock.end();
      connection.close();
    },
  };
}

export type Replica = ReturnType<typeof startReplica>;
