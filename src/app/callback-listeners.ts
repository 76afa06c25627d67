import { randomUUID } from "node:crypto";
import { ConnectionPool } from "../adapters/http-client/connection-pool.ts";
import { createDeliver } from "../adapters/http-client/deliver.ts";
import { type CallbackHandlerParts, createCallbackHandler } from "../callbacks/handler.ts";
import type { ReplayStore } from "../callbacks/replay-store.ts";
import type { CallbackListenerConfig, Config } from "../config/config.ts";
import { fingerprint, fingerprintOf } from "../config/hash.ts";
import { describeBind } from "../model/listener.ts";
import { ConcurrencyLimits } from "./application-listeners.ts";
import type { ServingOn } from "./hot-listener.ts";
import { KeyedResources, type Reloadable } from "./keyed-resources.ts";

/** What listeners for callbacks serve with: the connections to applications, and a limit for each environment. */
export interface CallbackListeners extends Reloadable {
  servingOn(listener: CallbackListenerConfig, config: Config): ServingOn;
  /** From now on no callback is let in. */
  refuseAll(): void;
  /** Ends all connections to applications. */
  close(): Promise<void>;
}

export type CallbackListenersParts = Pick<CallbackHandlerParts, "clock" | "report" | "buffers"> & {
  readonly replaysOf: (config: Config) => ReplayStore;
};

/** A pool outlives the deadline of its last user by this much. */
const lingerMarginMs = 1_000;

export function openCallbackListeners({ replaysOf, ...parts }: CallbackListenersParts): CallbackListeners {
  const { clock } = parts;
  const pools = new KeyedResources<ConnectionPool>(clock, {
    retire: (pool) => pool.close(),
    close: (pool) => pool.destroy(),
  });
  const limits = new ConcurrencyLimits(clock);

  return {
    servingOn(listener, config) {
      const { bind, environment: name, application, exempt, windowMs, replay: mode, tls } = listener;
      const environment = config.environments.get(name);
      if (environment === undefined) throw new Error("a listener names an environment that does not exist");
      const pool = pools.get(poolKey(application, config));
      if (pool === undefined) throw new Error("a configuration is prepared before it serves");
      const { url, timeoutMs } = application;
      const { requestMs } = config.timeouts;
      const own = {
        newRequestId: randomUUID,
        deliver: createDeliver(pool),
        replays: replaysOf(config),
        concurrency: limits.of(name, config),
      };
      const rules = { environment, exempt, windowMs, mode, timeoutMs };
      const path = url.path === "" ? "/" : url.path;
      const place = { listener: describeBind(bind), origin: url.origin, path, requestMs };
      return {
        handler: createCallbackHandler({ ...parts, ...own }, { ...rules, ...place }),
        requestMs,
        settings: { ...config.limits, clock },
        tls,
      };
    },

    async prepare(config) {
      const { requestMs, connectMs: connectTimeoutMs } = config.timeouts;
      const { inFlightPerEnvironment: connections } = config.limits;
      for (const { application } of config.callbacks ?? []) {
        const settings = { address: application.url, tls: application.tls, connectTimeoutMs, connections };
        pools.prepare(
          poolKey(application, config),
          () => new ConnectionPool(settings, clock),
          requestMs + lingerMarginMs,
        );
      }
    },

    commit(config) {
      const { callbacks = [] } = config;
      pools.commit(callbacks.map(({ application }) => poolKey(application, config)));
      limits.commit(
        config,
        callbacks.map(({ environment }) => environment),
      );
    },

    refuseAll: () => limits.close(),

    close: () => pools.close(),
  };
}

/** All that a pool is made from: listeners that agree in it share the pool. */
function poolKey({ url, tls }: CallbackListenerConfig["application"], { timeouts, limits }: Config): string {
  return fingerprint([url.origin, fingerprintOf(tls), timeouts.connectMs, limits.inFlightPerEnvironment]);
}
