import util from "node:util";
import type Server from "http-proxy";
import type { Clock } from "../../model/clock.ts";
import type { SendStream } from "../../pass-through/messages.ts";
import { type AgentSettings, ServiceAgent } from "./agent.ts";
import { Exchange, type ServiceSettings } from "./exchange.ts";

export type HttpProxy = Server;

/** What is not in the package's types. */
interface Passes {
  webPasses: ((...given: unknown[]) => unknown)[];
}

/**
 * The package, with no more of it than the step that makes and sends a request.
 *
 * - It copies with `util._extend`, whose first use prints a deprecation on Node 22 and later (DEP0060). It looks for it when it is
 *   loaded, and finds `Object.assign` then.
 * - Its step `deleteLength` takes the framing from a chunked DELETE, whose body then is the next request (CVE-2026-29057).
 */
export async function loadHttpProxy(): Promise<HttpProxy> {
  const extend: unknown = Reflect.get(util, "_extend");
  Reflect.set(util, "_extend", Object.assign);
  const { default: httpProxy } = await import("http-proxy").finally(() => Reflect.set(util, "_extend", extend));
  const server = httpProxy.createProxyServer({});
  const passes = server as unknown as Passes;
  passes.webPasses = passes.webPasses.filter(({ name }) => name === "stream");
  if (passes.webPasses.length !== 1) throw new Error("http-proxy has no step that is called stream");
  return server;
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
export function openStreamPool(proxy: HttpProxy, settings: ServiceSettings & AgentSettings, clock: Clock): StreamPool {
  const agent = new ServiceAgent(settings);
  const parts = { ...settings, proxy, agent, clock };
  return {
    send: (request, control) =>
      new Promise((resolve, reject) => {
        const exchange = new Exchange(request, control, parts, resolve, reject);
        // A close that arrives together with the request ends an idle connection before it is used.
        setImmediate(() => exchange.start());
      }),
    close: () => agent.close(),
    destroy: () => agent.destroy(),
  };
}
