import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import { listen, reportRefusedConnections } from "../adapters/http-server/listen.ts";
import type { Config, ListenerConfig } from "../config/config.ts";
import { type Bind, describeBind } from "../model/bind.ts";
import { ConcurrencyLimit } from "../proxy/concurrency-limit.ts";
import { createRequestHandler, type RequestHandlerParts } from "../proxy/handler.ts";
import type { ListenerContext } from "../proxy/messages.ts";
import { loopbackHosts } from "../proxy/target.ts";
import { HotListener, type ServingOn } from "./hot-listener.ts";
import { KeyedResources } from "./keyed-resources.ts";
import type { Reloadable } from "./reloadable.ts";

export type ListenersParts = Pick<RequestHandlerParts, "clock" | "report" | "send" | "tokensOf" | "memories"> & {
  readonly createAdmin: () => Server;
  readonly createStatus: () => Server;
};

/** Where the servers listen. */
export interface Binds {
  /** In the configuration's order; real ports where 0 was asked for. */
  readonly listeners: readonly Bind[];
  readonly admin: Bind;
  readonly status: Bind;
}

/** A server that a configuration wants. */
interface Binding {
  /** Two configurations with the same key mean the same server. */
  readonly key: string;
  readonly bind: Bind;
  readonly create: () => { readonly server: Server; readonly listener?: HotListener };
}

interface BoundServer {
  readonly server: Server;
  /** The listener for applications that it is, if it is one. */
  readonly listener?: HotListener;
  /** With the port that was given, once it listens. */
  bind: Bind;
}

/** The servers of this process: the listeners for applications, the admin and the status server. */
export class Listeners implements Reloadable {
  readonly #parts: ListenersParts;
  readonly #servers: KeyedResources<BoundServer>;
  readonly #limits: KeyedResources<ConcurrencyLimit>;
  /** Of the listeners that a reload has removed, until each has drained: whether it did so in time. */
  readonly #draining = new Set<Promise<boolean>>();

  constructor(parts: ListenersParts) {
    this.#parts = parts;
    this.#servers = new KeyedResources(parts.clock, {
      retire: (bound) => this.#retire(bound),
      close: ({ server }) => endServer(server),
    });
    this.#limits = new KeyedResources(parts.clock);
  }

  /**
   * Listens wherever nothing listens yet. Requests that come in wait for the first configuration to be committed.
   * @throws what `listen` throws
   */
  async prepare(config: Config): Promise<void> {
    for (const { key, bind, create } of this.#bindings(config)) {
      const bound = this.#servers.prepare(key, () => ({ ...create(), bind }));
      if (bound.server.listening) continue;
      this.#refuseOwn(bind);
      const { clock, report } = this.#parts;
      reportRefusedConnections(bound.server, { name: describeBind(bind), report }, clock);
      bound.bind = await listen(bound.server, bind);
    }
  }

  commit(config: Config): void {
    const { requestMs } = config.timeouts;
    const { inFlightPerEnvironment } = config.limits;
    for (const [key, listener] of keyed(config)) {
      this.#servers.get(key)?.listener?.serve(this.#describeServing(listener, config));
      this.#limits.prepare(listener.environment, () => new ConcurrencyLimit(inFlightPerEnvironment), requestMs);
    }
    this.#limits.commit(config.listeners.map(({ environment }) => environment));
    for (const limit of this.#limits.values()) limit.resize(inFlightPerEnvironment);
    this.#servers.commit(this.#bindings(config).map(({ key }) => key));
  }

  bindsOf(config: Config): Binds {
    const binds = this.#bindings(config).map(({ key, bind }) => this.#servers.get(key)?.bind ?? bind);
    const { admin, status } = config;
    return { listeners: binds.slice(0, -2), admin: binds.at(-2) ?? admin, status: binds.at(-1) ?? status };
  }

  /** Requests that are being served. */
  inFlight(): number {
    return this.#limits.values().reduce((sum, { inFlight }) => sum + inFlight, 0);
  }

  /** Open connections by listener, in the configuration's order. */
  connections(): { readonly listener: string; readonly open: number }[] {
    return this.#hotListeners().map(({ name: listener, openConnections: open }) => ({ listener, open }));
  }

  /**
   * Lets open requests end, each by its own deadline, also those of listeners that have been removed. Every connection
   * closes with its next response; latecomers are refused.
   * @returns whether all connections were gone in time
   */
  async drain(): Promise<boolean> {
    const listeners = this.#hotListeners();
    const openMs = Math.max(0, ...listeners.map(({ longestRequestMs }) => longestRequestMs));
    const refuseAll = () => {
      for (const limit of this.#limits.values()) limit.close();
    };
    const draining = listeners.map((listener) => listener.drain(openMs, refuseAll));
    const drained = await Promise.all([...draining, ...this.#draining]);
    return drained.every((isDrained) => isDrained);
  }

  /** Ends all servers with every connection. */
  close(): Promise<void> {
    return this.#servers.close();
  }

  #hotListeners(): HotListener[] {
    return this.#servers.values().flatMap(({ listener }) => listener ?? []);
  }

  #bindings(config: Config): Binding[] {
    const { admin, status } = config;
    const { createAdmin, createStatus } = this.#parts;
    return [
      ...keyed(config).map(([key, listener]) => ({
        key,
        bind: listener.bind,
        create: () => this.#createListener(listener, config),
      })),
      { key: `admin ${describeBind(admin)}`, bind: admin, create: () => ({ server: createAdmin() }) },
      { key: `status ${describeBind(status)}`, bind: status, create: () => ({ server: createStatus() }) },
    ];
  }

  #createListener(listener: ListenerConfig, config: Config) {
    const { clock, report } = this.#parts;
    const binding = { name: describeBind(listener.bind), report };
    const hot = new HotListener(binding, this.#describeServing(listener, config), clock);
    return { server: hot.server, listener: hot };
  }

  #describeServing(listener: ListenerConfig, config: Config): ServingOn {
    const { limits, timeouts, log } = config;
    const { requestMs } = timeouts;
    const createLimit = () => new ConcurrencyLimit(limits.inFlightPerEnvironment);
    const journey = createRequestHandler(
      {
        ...this.#parts,
        admission: this.#limits.prepare(listener.environment, createLimit, requestMs),
        requestTimeoutMs: requestMs,
        upstreamHeaders: log.upstreamHeaders,
        newRequestId: randomUUID,
      },
      describeContext(listener, config),
    );
    const tls = listener.callers?.kind === "mtls" ? listener.callers.tls : undefined;
    return { journey, requestMs, settings: { ...limits, clock: this.#parts.clock }, tls };
  }

  /** An address that this process has for another server cannot be given back before the next configuration is sure of it. */
  #refuseOwn(bind: Bind): void {
    const address = describeBind(bind);
    const isTaken = this.#servers
      .values()
      .some((bound) => bound.server.listening && describeBind(bound.bind) === address);
    if (!isTaken) return;
    const message = `${address} serves something else in this process; a restart can change that`;
    throw Object.assign(new Error(message), { syscall: "listen" });
  }

  /** People and probes lose nothing when their server ends; applications have requests under way. */
  #retire({ server, listener }: BoundServer): void {
    if (listener === undefined) {
      endServer(server);
      return;
    }
    const drained = drainAndEnd(listener);
    this.#draining.add(drained);
    void drained.then(() => this.#draining.delete(drained));
  }
}

async function drainAndEnd(listener: HotListener): Promise<boolean> {
  const isDrained = await listener.drain();
  endServer(listener.server);
  return isDrained;
}

/** Ends it with every connection, and with the timer that looks after them, which holds all that it has served. */
function endServer(server: Server): void {
  server.close();
  server.closeAllConnections();
}

/** By what makes a listener the same one: where it listens and whether with TLS. Several may ask for a free port. */
function keyed({ listeners }: Config): (readonly [key: string, listener: ListenerConfig])[] {
  const describe = ({ bind, callers }: ListenerConfig) =>
    `${describeBind(bind)} ${callers?.kind === "mtls" ? "TLS" : "plain"}`;
  const addresses = listeners.map(describe);
  return listeners.map((listener, index) => {
    const address = describe(listener);
    const earlier = addresses.slice(0, index).filter((other) => other === address).length;
    return [`${address} ${earlier}`, listener];
  });
}

/** What a listener's requests belong to, and by which names it may be called. */
function describeContext({ bind, environment: name, hosts, callers }: ListenerConfig, config: Config): ListenerContext {
  const environment = config.environments.get(name);
  if (environment === undefined) throw new Error("a listener names an environment that does not exist");
  const listener = describeBind(bind);
  const own = bind.kind === "tcp" && bind.host !== "" ? [bind.host.includes(":") ? `[${bind.host}]` : bind.host] : [];
  const scheme = callers?.kind === "mtls" ? "https" : "http";
  return {
    environment,
    hosts: bind.kind === "unix" ? "any" : new Set([...loopbackHosts, ...own, environment.baseUrl.host, ...hosts]),
    listener,
    callerTokens: callers?.kind === "tokens" ? callers.tokens : undefined,
    url: bind.kind === "tcp" ? `${scheme}://${listener}` : listener,
  };
}

/** Why a server cannot listen, for people; undefined where that is not what failed. */
export function explainListenError(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("syscall" in error) || error.syscall !== "listen") return undefined;
  return error.message.replace(/^listen EADDRINUSE: /, "");
}
