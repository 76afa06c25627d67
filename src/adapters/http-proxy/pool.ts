import type { Clock } from "../../model/clock.ts";
import type { SendStream } from "../../pass-through/messages.ts";
import { type Connect, ServiceAgent } from "./agent.ts";
import { Exchange, type ServiceSettings } from "./exchange.ts";
import type { HttpProxy } from "./load.ts";

export interface StreamPoolSettings extends ServiceSettings {
  /** Begins to connect, as the environment wants it. */
  readonly connect: Connect;
  /** The most requests at once. */
  readonly requests: number;
}

/** The connections to one service, for requests whose bodies are passed on. */
export interface StreamPool {
  readonly send: SendStream;
  /** Ends each connection once nothing is under way on it. */
  close(): void;
  /** Ends all connections at once. */
  destroy(): void;
}

/** @param proxy from `loadHttpProxy` */
export function openStreamPool(proxy: HttpProxy, settings: StreamPoolSettings, clock: Clock): StreamPool {
  const agent = new ServiceAgent(settings.connect, settings.requests);
  const parts = { ...settings, proxy, agent, clock };
  return {
    send: (request, times, control) =>
      new Promise((resolve, reject) => {
        const exchange = new Exchange(request, times, control, parts, resolve, reject);
        // A close of which the system tells together with the request ends an idle connection before it is used.
        setImmediate(() => exchange.start());
      }),
    close: () => agent.close(),
    destroy: () => agent.destroy(),
  };
}
