import { randomUUID } from "node:crypto";
import { drain } from "../adapters/http-server/drain.ts";
import type { OpenConnections } from "../adapters/prometheus/show-connections.ts";
import type { Config, ListenerConfig } from "../config/config.ts";
import { describeBind } from "../model/bind.ts";
import { ConcurrencyLimit } from "../proxy/concurrency-limit.ts";
import { createRequestHandler, type RequestHandlerParts } from "../proxy/handler.ts";
import type { ListenerContext } from "../proxy/messages.ts";
import { loopbackHosts } from "../proxy/target.ts";
import { HotListener, type ServingOn } from "./hot-listener.ts";
import { KeyedResources } from "./keyed-resources.ts";
import type { Reloadable } from "./reloadable.ts";
import { type Binding, endServer } from "./servers.ts";

/** The listeners for applications. */
export interface Listeners extends Reloadable {
  /** Where the listeners of a prepared configuration belong, in its order. */
  placesOf(config: Config): readonly Binding[];
  /** Requests being served now. */
  inFlight(): number;
  /** Open connections by listener, in the configuration's order. */
  connections(): readonly OpenConnections[];
  /**
   * Lets open requests end, each by its own deadline, those of listeners that have been removed as well. Every connection
   * closes with its next answer; latecomers are refused. Resolves to whether all connections were gone in time.
   */
  drain(): Promise<boolean>;
}

/** Time for the last answers and for 503s to latecomers, after the last request could have ended. */
const lastWordsMs = 2_000;

type DoorParts = Pick<RequestHandlerParts, "clock" | "report" | "send" | "tokensOf" | "buffers">;

export function createListeners(parts: DoorParts): Listeners {
  const { clock, report } = parts;
  const admissions = new KeyedResources<ConcurrencyLimit>();
  const doors = new KeyedResources<HotListener>();
  /** Those that a reload has removed, until each has ended: whether that was in time. */
  const leaving = new Map<HotListener, Promise<boolean>>();

  const serve = (listener: ListenerConfig, config: Config): ServingOn => {
    const { limits, timeouts, log } = config;
    const admission = admissions.take(listener.environment, () => new ConcurrencyLimit(limits.inFlightPerEnvironment));
    const { requestMs } = timeouts;
    const { upstreamHeaders } = log;
    const once = { concurrency: admission, requestMs, upstreamHeaders, newRequestId: randomUUID };
    return {
      handler: createRequestHandler({ ...parts, ...once }, describeDoor(listener, config)),
      requestMs,
      settings: { ...limits, clock },
      tls: listener.callers?.kind === "mtls" ? listener.callers.tls : undefined,
    };
  };

  const open = (listener: ListenerConfig, config: Config): HotListener => {
    const place = { name: describeBind(listener.bind), report };
    return new HotListener(place, serve(listener, config));
  };

  const drainAll = (some: readonly HotListener[], onTimeUp: () => void) => {
    const hold = () => {
      const releases = some.map((door) => door.hold());
      return () => {
        for (const release of releases) release();
      };
    };
    const openMs = Math.max(0, ...some.map(({ longestRequestMs }) => longestRequestMs));
    const listeners = some.map((door) => door.listener);
    return drain(listeners, clock, { hold, openMs, onTimeUp, lateMs: lastWordsMs });
  };

  const retire = async (door: HotListener) => {
    const isDrained = await drainAll([door], () => {});
    endServer(door.listener.server);
    leaving.delete(door);
    return isDrained;
  };

  return {
    prepare(config) {
      for (const [key, listener] of keyed(config)) doors.take(key, () => open(listener, config));
    },

    commit(config) {
      const { inFlightPerEnvironment } = config.limits;
      for (const admission of admissions.all()) admission.resize(inFlightPerEnvironment);
      for (const [key, listener] of keyed(config)) {
        const door = doors.take(key, () => open(listener, config));
        door.serve(serve(listener, config));
      }
      doors.keepOnly(keyed(config).map(([key]) => key));
    },

    placesOf: (config) =>
      keyed(config).map(([key, listener]) => {
        const door = doors.take(key, () => open(listener, config));
        return {
          key,
          bind: listener.bind,
          createServer: () => door.listener.server,
          retire: () => void leaving.set(door, retire(door)),
        };
      }),

    connections: () => doors.all().map(({ name, listener: { open } }) => ({ listener: name, open })),

    inFlight: () => admissions.all().reduce((sum, { inFlight }) => sum + inFlight, 0),

    async drain() {
      const refuseAll = () => {
        for (const admission of admissions.all()) admission.close();
      };
      const drained = await Promise.all([drainAll(doors.all(), refuseAll), ...leaving.values()]);
      return drained.every((isDrained) => isDrained);
    },
  };
}

/** By what makes a listener the same one: where it listens and whether with TLS. Several may ask for a free port. */
function keyed({ listeners }: Config): (readonly [key: string, listener: ListenerConfig])[] {
  return listeners.map((listener, index) => {
    const place = placeOf(listener);
    const earlier = listeners.slice(0, index).filter((other) => placeOf(other) === place).length;
    return [`${place} ${earlier}`, listener];
  });
}

function placeOf({ bind, callers }: ListenerConfig): string {
  return `${describeBind(bind)} ${callers?.kind === "mtls" ? "TLS" : "plain"}`;
}

/** What a listener's requests belong to, and by which names it may be called. */
function describeDoor({ bind, environment: name, hosts, callers }: ListenerConfig, config: Config): ListenerContext {
  const environment = config.environments.get(name);
  if (environment === undefined) throw new Error("a listener names an environment that does not exist");
  const own = bind.kind === "tcp" && bind.host !== "" ? [bind.host.includes(":") ? `[${bind.host}]` : bind.host] : [];
  return {
    environment,
    hosts: bind.kind === "unix" ? "any" : new Set([...loopbackHosts, ...own, environment.baseUrl.host, ...hosts]),
    listener: describeBind(bind),
    callerTokens: callers?.kind === "tokens" ? callers.tokens : undefined,
    url:
      bind.kind === "tcp"
        ? `${callers?.kind === "mtls" ? "https" : "http"}://${describeBind(bind)}`
        : describeBind(bind),
  };
}
