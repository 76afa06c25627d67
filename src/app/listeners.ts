import { drain } from "../adapters/http-server/drain.ts";
import { listen, reportRefusedConnections } from "../adapters/http-server/listen.ts";
import { type Binding, createListener, type Serving } from "../adapters/http-server/listener.ts";
import type { SocketServer } from "../adapters/http-server/tls.ts";
import type { Config } from "../config/config.ts";
import type { Clock } from "../model/clock.ts";
import type { Report } from "../model/events.ts";
import { type Bind, callersTlsOf, describeBind } from "../model/listener.ts";
import type { Buffers } from "../serving/messages.ts";
import type { Handlers } from "./handlers.ts";
import { KeyedResources } from "./keyed-resources.ts";

/** Where the servers listen. */
export interface Binds {
  /** In the configuration's order; the real port if 0 is configured. */
  readonly listeners: readonly Bind[];
  /** The same for listeners for callbacks. */
  readonly callbacks: readonly Bind[];
  readonly admin: Bind;
  readonly status: Bind | undefined;
}

interface ListenersParts {
  readonly clock: Clock;
  readonly report: Report;
  readonly handlers: Handlers;
  /** The memory that all listeners share for bodies. */
  readonly buffers: Buffers;
  readonly createAdmin: () => SocketServer;
  readonly createStatus: () => SocketServer;
}

interface BoundServer {
  readonly server: SocketServer;
  /** Set if the server is a listener for applications or callbacks. */
  readonly listener?: HotListener;
  /** With the real port, once the server listens. */
  bind: Bind;
}

/** A server that a configuration needs. Two configurations with the same key share the server. */
interface WantedServer {
  readonly key: string;
  /** The configuration's key of the address, such as `listeners[0].bind`. */
  readonly setting: string;
  readonly bind: Bind;
  create(): Omit<BoundServer, "bind">;
  /** A listener's handler and settings; other servers have none. */
  serving?(): ServingOn;
}

/** A listener's handler and settings. The listener itself adds whether requests wait and connections close. */
type ServingOn = Omit<Serving, "settings"> & Pick<Config, "limits" | "timeouts">;

/** The servers of this process: the listeners for applications and for callbacks, the admin and the status server. */
export function openListeners({ clock, report, handlers, buffers, createAdmin, createStatus }: ListenersParts) {
  const servers = new KeyedResources<BoundServer>(clock, { close: ({ server }) => endServer(server), retire });
  /** For each removed listener that still drains: whether it drains in time. */
  const draining = new Set<Promise<boolean>>();
  /** Aborted when the process ends, and open requests have no more time. */
  const timeUp = new AbortController();
  const hotListeners = () => servers.values().flatMap(({ listener }) => listener ?? []);

  /** Admin and status server can end at once; a listener has requests of applications under way. */
  function retire({ server, listener }: BoundServer): void {
    if (listener === undefined) {
      endServer(server);
    } else {
      const late = new AbortController();
      const cancel = clock.after(lastRequestMs + listener.longestRequestMs(), () => late.abort());
      const drained = listener.drain(AbortSignal.any([late.signal, timeUp.signal])).finally(cancel);
      draining.add(drained);
      void drained.then(() => {
        endServer(server);
        draining.delete(drained);
      });
    }
  }

  /** Listeners for applications first, then those for callbacks, each in the configuration's order; admin and status last. */
  function serversOf(config: Config): WantedServer[] {
    const { admin, status, limits, timeouts } = config;
    const outbound = config.listeners.map((listener, index) => {
      const tls = callersTlsOf(listener.callers);
      const serving = () => ({ handler: handlers.forApplications(listener, config), tls, limits, timeouts });
      return { setting: `listeners[${index}].bind`, bind: listener.bind, isTls: tls !== undefined, serving };
    });
    const inbound = config.callbacks.map((listener, index) => {
      const { bind, tls } = listener;
      const serving = () => ({ handler: handlers.forCallbacks(listener, config), tls, limits, timeouts });
      return { setting: `callbacks[${index}].bind`, bind, isTls: tls !== undefined, serving };
    });
    return [
      ...keyed([...outbound, ...inbound]).map((wanted) => ({ ...wanted, create: () => openListener(wanted) })),
      ownServer("admin", admin, createAdmin),
      ...(status === undefined ? [] : [ownServer("status", status, createStatus)]),
    ];
  }

  function openListener({ bind, serving }: Required<Pick<WantedServer, "bind" | "serving">>) {
    const listener = openHotListener({ name: describeBind(bind), report }, serving(), { clock, buffers });
    return { server: listener.listener.server, listener };
  }

  /** The address of another server of this process is not free until the next configuration is committed. */
  function refuseOwn(setting: string, address: string): void {
    const isTaken = servers.values().some(({ server, bind }) => server.listening && describeBind(bind) === address);
    if (!isTaken) return;
    throw listenError(`${setting} is ${address}, which serves something else in this process; restart it`);
  }

  return {
    /** Starts each server that does not listen yet. Requests wait until its first configuration is committed. */
    async prepare(config: Config): Promise<void> {
      for (const { key, setting, bind, create } of serversOf(config)) {
        const bound = servers.prepare(config, key, () => ({ ...create(), bind }));
        if (bound.server.listening) continue;
        const address = describeBind(bind);
        refuseOwn(setting, address);
        reportRefusedConnections(bound.server, { name: address, report }, clock);
        bound.bind = await listen(bound.server, bind).catch((error: NodeJS.ErrnoException) => {
          const { code } = error;
          // Not an error of the system, but a defect.
          if (code === undefined) throw error;
          const [why, fix] = listenFaults[code] ?? ["which fails", "name another place"];
          throw listenError(`${setting} is ${address}, ${why} (${code}); ${fix}`, code);
        });
      }
    },

    commit(config: Config): void {
      for (const { key, serving } of serversOf(config)) if (serving) servers.get(key)?.listener?.serve(serving());
      servers.commit(config);
    },

    bindsOf(config: Config): Binds {
      const binds = serversOf(config).map(({ key, bind }) => servers.get(key)?.bind ?? bind);
      const { listeners, callbacks, admin } = config;
      const [ownAdmin = admin, status] = binds.slice(listeners.length + callbacks.length);
      return {
        listeners: binds.slice(0, listeners.length),
        callbacks: binds.slice(listeners.length, listeners.length + callbacks.length),
        admin: ownAdmin,
        status,
      };
    },

    /** Open connections by listener, the oldest listener first. */
    connections: () => hotListeners().map(({ name, listener: { open } }) => ({ listener: name, open })),

    /**
     * Lets open requests end, each by its own deadline, also those of removed listeners. Every connection closes with its
     * next response; later requests are refused.
     * @param endOpen called when the time is over; it ends all requests that are still open
     * @param hurried aborting it ends that time
     * @returns whether all connections were gone in time
     */
    async drain(endOpen: () => void, hurried: AbortSignal): Promise<boolean> {
      const openMs = Math.max(0, ...hotListeners().map(({ longestRequestMs }) => longestRequestMs()));
      const end = () => {
        endOpen();
        timeUp.abort();
      };
      const cancel = clock.after(openMs, end);
      hurried.addEventListener("abort", end);
      if (hurried.aborted) end();
      const drained = hotListeners().map((listener) => listener.drain(timeUp.signal));
      const areDrained = await Promise.all([...drained, ...draining]);
      cancel();
      return areDrained.every((isDrained) => isDrained);
    },

    /** Closes all servers and every connection. */
    close: () => servers.close(),
  };
}

/** Time for the last responses, and for 503s to late requests, after the deadline of the last request. */
const lateMs = 2_000;
/** A request may be accepted last on a connection of a removed listener: head and body have 25 s to come. */
const lastRequestMs = 25_000;

type HotListener = ReturnType<typeof openHotListener>;

/**
 * A listener that keeps its connections when the configuration changes. It listens before its first configuration is active;
 * until then requests wait.
 * @param binding its name, which is the configured address, and the receiver of its events
 */
function openHotListener(binding: Binding, first: ServingOn, shared: Pick<ListenersParts, "clock" | "buffers">) {
  let longestRequestMs = 0;
  /** Set while requests wait; resolved when they may continue. */
  let paused: Promise<void> | undefined;
  let resume = () => {};
  let isActive = false;
  let isDraining = false;
  let serving = complete(first);
  pause();
  const listener = createListener(() => serving, binding);

  /** Makes new requests wait for `resume`. */
  function pause(): void {
    paused ??= new Promise((resolve) => {
      resume = () => {
        paused = undefined;
        resolve();
      };
    });
  }

  function complete({ limits, timeouts, ...own }: ServingOn): Serving {
    longestRequestMs = Math.max(longestRequestMs, timeouts.requestMs);
    return { ...own, settings: { ...limits, ...shared, isDraining: () => isDraining, held: () => paused } };
  }

  return {
    name: binding.name,
    listener,

    /** The longest time for a request: each has the deadline of the configuration that accepted it. */
    longestRequestMs: () => longestRequestMs,

    /** Serves with `next` from the next request on, on open connections as well. */
    serve(next: ServingOn): void {
      serving = complete(next);
      listener.renew();
      if (!isActive) resume();
      isActive = true;
    },

    /**
     * Lets open requests end. Every connection closes with its next response.
     * @param timeUp aborted when open requests have no more time
     * @returns whether all connections were gone in time
     */
    drain(timeUp: AbortSignal): Promise<boolean> {
      const hold = () => {
        pause();
        return () => {
          isDraining = true;
          resume();
        };
      };
      return drain(listener, shared.clock, { hold, timeUp, lateMs });
    },
  };
}

/** Closes a server and every connection; `close` also ends Node's timer, which would keep all of it in memory. */
function endServer(server: SocketServer): void {
  server.close();
  server.closeAllConnections();
}

function ownServer(name: "admin" | "status", bind: Bind, createServer: () => SocketServer): WantedServer {
  const create = () => ({ server: createServer() });
  return { key: `${name} ${describeBind(bind)}`, setting: `${name}.bind`, bind, create };
}

/** Adds the key by which a reload recognises a listener: address, TLS, and a number, since several may have port 0. */
function keyed<Listener extends { readonly bind: Bind; readonly isTls: boolean }>(listeners: readonly Listener[]) {
  const addresses = listeners.map(({ bind, isTls }) => `${describeBind(bind)} ${isTls}`);
  return listeners.map((listener, index) => {
    const earlier = addresses.slice(0, index).filter((address) => address === addresses[index]).length;
    return { ...listener, key: `${addresses[index]} ${earlier}` };
  });
}

/** The error of a server that cannot listen. The message, for people, names the setting and the fix. */
function listenError(message: string, code?: string): Error {
  return Object.assign(new Error(message), { syscall: "listen", code });
}

/** Why a server cannot listen, for people; undefined for any other error. */
export function explainListenError(error: unknown): string | undefined {
  return error instanceof Error && "syscall" in error && error.syscall === "listen" ? error.message : undefined;
}

const unresolved = ["a name that cannot be resolved", "name an address"] as const;
/** Why a server cannot listen, and the fix, by Node's codes. */
const listenFaults: Readonly<Record<string, readonly [why: string, fix: string]>> = {
  EADDRINUSE: ["which is taken", "end the process that listens there, or name another place"],
  EADDRNOTAVAIL: ["which is no address of this machine", "name one of its own"],
  ENOTFOUND: unresolved,
  EAI_AGAIN: unresolved,
  ENOENT: ["whose folder does not exist", "create it, or name another"],
  EACCES: ["where this process may not listen", "name a port from 1024 on, or a folder that it may write to"],
};
