import type { Server } from "node:http";
import { listen, reportRefusedConnections } from "../adapters/http-server/listen.ts";
import { type Bind, describeBind } from "../model/bind.ts";
import type { Clock } from "../model/clock.ts";
import type { Report } from "../model/events.ts";

/** Where a server is to listen. */
export interface Binding {
  /** Two configurations with the same key mean the same server. */
  readonly key: string;
  readonly bind: Bind;
  createServer(): Server;
  /** No configuration wants it any more: it ends in its own time. */
  retire(server: Server): void;
}

interface Listening {
  readonly place: Binding;
  readonly server: Server;
  /** With the port that was given where 0 was asked for. */
  readonly bind: Bind;
}

/** The servers that listen, by the keys of their places. */
export class Servers {
  readonly #parts: { readonly clock: Clock; readonly report: Report };
  #all: ReadonlyMap<string, Listening> = new Map();

  constructor(parts: { readonly clock: Clock; readonly report: Report }) {
    this.#parts = parts;
  }

  bindOf({ key, bind }: Binding): Bind {
    return this.#all.get(key)?.bind ?? bind;
  }

  /**
   * Listens everywhere where nobody listens yet, or nowhere: where one place cannot be had, the others are given back.
   * @throws what `listen` throws
   */
  async open(places: readonly Binding[]): Promise<void> {
    const opened: Listening[] = [];
    try {
      for (const place of places) {
        if (this.#all.has(place.key)) continue;
        this.#refuseOwn(place);
        opened.push(await this.#open(place));
      }
    } catch (error) {
      for (const { server } of opened) endServer(server);
      throw error;
    }
    this.#all = new Map([...this.#all, ...opened.map((each) => [each.place.key, each] as const)]);
  }

  async #open(place: Binding): Promise<Listening> {
    const { clock, report } = this.#parts;
    const server = place.createServer();
    reportRefusedConnections(server, { name: describeBind(place.bind), report }, clock);
    try {
      return { place, server, bind: await listen(server, place.bind) };
    } catch (error) {
      endServer(server);
      throw error;
    }
  }

  /** A place that this process has for something else cannot be given back before what comes next is sure of it. */
  #refuseOwn({ bind }: Binding): void {
    const isTaken = [...this.#all.values()].some((other) => describeBind(other.bind) === describeBind(bind));
    if (!isTaken) return;
    const message = `${describeBind(bind)} serves something else in this process; a restart can change that`;
    throw Object.assign(new Error(message), { syscall: "listen" });
  }

  /** All others retire. */
  keepOnly(places: readonly Binding[]): void {
    const wanted = new Set(places.map(({ key }) => key));
    const before = this.#all;
    this.#all = new Map([...before].filter(([key]) => wanted.has(key)));
    for (const [key, { place, server }] of before) if (!wanted.has(key)) place.retire(server);
  }

  /** Ends them and every connection. */
  close(): void {
    for (const { server } of this.#all.values()) endServer(server);
  }
}

/** A place for people and probes, who lose nothing when it ends. */
export function plainBinding(name: string, bind: Bind, createServer: () => Server): Binding {
  return { key: `${name} ${describeBind(bind)}`, bind, createServer, retire: endServer };
}

/** Ends it with every connection, and with the timer that looks after them, which holds all that it has served. */
export function endServer(server: Server): void {
  server.close();
  server.closeAllConnections();
}
