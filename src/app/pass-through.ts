import { setMaxListeners } from "node:events";
import { createConnect } from "../adapters/http-client/connect.ts";
import { explainTransportError } from "../adapters/http-client/transport-error.ts";
import type { HttpProxy, StreamPool } from "../adapters/http-proxy/pool.ts";
import type { Config } from "../config/config.ts";
import { fingerprint } from "../config/hash.ts";
import type { Clock } from "../model/clock.ts";
import type { Environment } from "../model/environment.ts";
import { createPassThroughHandler, type PassThroughParts } from "../pass-through/handler.ts";
import type { SendStream, StreamingRequest } from "../pass-through/messages.ts";
import type { RequestHandler } from "../proxy/handler.ts";
import type { ListenerContext } from "../proxy/messages.ts";
import { type ConnectSettingsOf, connectionKeyOf } from "./connect-settings.ts";
import { KeyedResources, type Reloadable } from "./keyed-resources.ts";

/** What pass-through routes are served with: connections to services of their own. */
export interface PassThrough extends Reloadable {
  /** For listeners whose environment has routes; what is below none of them goes to the main path. */
  handlerFor(
    main: RequestHandler,
    listener: ListenerContext,
    config: Config,
    parts: Omit<PassThroughParts, "sendStream" | "shutdown">,
  ): RequestHandler<StreamingRequest>;
  /** Ends what is still under way. */
  endAll(): void;
  /** Ends all connections. */
  close(): Promise<void>;
}

export function openPassThrough(clock: Clock, connectSettingsOf: ConnectSettingsOf): PassThrough {
  const endings = { retire: (pool: StreamPool) => pool.close(), close: (pool: StreamPool) => pool.destroy() };
  const pools = new KeyedResources<StreamPool>(clock, endings);
  const shutdown = new AbortController();
  let proxy: HttpProxy | undefined;
  setMaxListeners(0, shutdown.signal);

  const sendStreamOf =
    (config: Config): SendStream =>
    (request, times, control) => {
      const pool = pools.get(poolKey(request.environment, config));
      if (pool === undefined) throw new Error("a configuration is prepared before it serves");
      return pool.send(request, times, control);
    };

  return {
    handlerFor(main, listener, config, parts) {
      const own = { sendStream: sendStreamOf(config), shutdown: shutdown.signal };
      return createPassThroughHandler({ ...parts, ...own }, listener, listener.environment.passThrough ?? [], main);
    },

    async prepare(config) {
      const { connectMs: connectTimeoutMs, requestMs } = config.timeouts;
      const { inFlightPerEnvironment: requests } = config.limits;
      if (routed(config).length === 0) return;
      // A process without such routes saves its memory.
      const { loadHttpProxy, openStreamPool } = await import("../adapters/http-proxy/pool.ts");
      proxy ??= await loadHttpProxy();
      const loaded = proxy;
      for (const environment of routed(config)) {
        const { baseUrl } = environment;
        const open = () => {
          const to = { ...connectSettingsOf(environment, baseUrl), connectTimeoutMs };
          const authority = new URL(baseUrl.origin).host;
          const settings = {
            connect: createConnect(to, clock),
            authority,
            explain: explainTransportError,
            requests,
          };
          return openStreamPool(loaded, settings, clock);
        };
        pools.prepare(poolKey(environment, config), open, requestMs);
      }
    },

    commit(config) {
      pools.commit(routed(config).map((environment) => poolKey(environment, config)));
    },

    endAll: () => shutdown.abort(),

    close: () => pools.close(),
  };
}

function routed({ environments }: Config): Environment[] {
  return [...environments.values()].filter(({ passThrough }) => passThrough !== undefined);
}

/** All that a pool is made from: configurations that agree in it share the pool. */
function poolKey(environment: Environment, { timeouts, limits }: Config): string {
  const { connectMs } = timeouts;
  const to = connectionKeyOf(environment, environment.baseUrl);
  return fingerprint(["pass-through", ...to, limits.inFlightPerEnvironment, connectMs]);
}
