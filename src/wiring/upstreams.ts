import { openPool, type Pool } from "../adapters/undici/pools.ts";
import { createPostForm } from "../adapters/undici/post-form.ts";
import { createSend } from "../adapters/undici/send.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import { fingerprint } from "../config/hash.ts";
import type { Environment } from "../environment.ts";
import type { Send } from "../journey/messages.ts";
import { fetchDeadlineMs, type PostForm } from "../tokens/endpoint.ts";
import type { Room } from "./room.ts";
import { Shelf } from "./shelf.ts";

/** The ways out of the process. */
export interface Upstreams extends Room {
  readonly send: Send;
  readonly postFormOf: (environment: Environment) => PostForm;
  /** Ends all connections. */
  close(): Promise<void>;
}

/** One environment's connections. */
interface Ways {
  readonly service: Pool;
  readonly login: Pool;
  /** How long a request that was accepted by this configuration may still want them. */
  readonly lingerMs: number;
}

/** One fetch a set at a time, and few sets. */
const loginConnections = 8;

/** Pools lead to the configured hosts and to no others. A request uses those of the configuration that accepted it. */
export function openUpstreams(clock: Clock): Upstreams {
  const shelf = new Shelf<Ways>();
  const waysOf = new WeakMap<Environment, Ways>();
  const leaving = new Set<Ways>();

  const find = (environment: Environment): Ways => {
    const ways = waysOf.get(environment);
    if (ways === undefined) throw new Error("every environment that is served has its ways");
    return ways;
  };
  const retire = (ways: Ways) => {
    leaving.add(ways);
    clock.after(ways.lingerMs, () => {
      // Unless everything has ended meanwhile.
      if (!leaving.delete(ways)) return;
      void ways.service.close();
      void ways.login.close();
    });
  };

  return {
    send: createSend((environment) => find(environment).service, clock),
    postFormOf: (environment) =>
      createPostForm(find(environment).login, `${environment.authUrl.path}/oauth/token`, clock),
    prepare(config) {
      for (const environment of config.environments.values()) {
        const ways = shelf.take(keyOf(environment, config), () => openWays(environment, config));
        waysOf.set(environment, ways);
      }
    },
    use(config) {
      const keys = [...config.environments.values()].map((environment) => keyOf(environment, config));
      for (const ways of shelf.keepOnly(keys)) retire(ways);
    },
    async close() {
      const pools = [...shelf.all(), ...leaving].flatMap(({ service, login }) => [service, login]);
      leaving.clear();
      await Promise.all(pools.map((pool) => pool.destroy()));
    },
  };
}

/** All that connections are made from. */
function keyOf({ name, baseUrl, authUrl, tls }: Environment, { timeouts, limits }: Config): string {
  return fingerprint([name, baseUrl.origin, authUrl.origin, tls, timeouts, limits.inFlightPerEnvironment]);
}

function openWays({ baseUrl, authUrl, tls }: Environment, { timeouts, limits }: Config): Ways {
  const { connectMs: connectTimeoutMs, requestMs } = timeouts;
  return {
    service: openPool({ address: baseUrl, tls, connectTimeoutMs, connections: limits.inFlightPerEnvironment }),
    login: openPool({ address: authUrl, tls, connectTimeoutMs, connections: loginConnections }),
    lingerMs: Math.max(requestMs, fetchDeadlineMs) + 1_000,
  };
}
