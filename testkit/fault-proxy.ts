import { EventEmitter, once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { type BreakKind, noFaults, travelOneWay, type WayFaults } from "./fault-proxy-way.ts";

/** One direction of all connections. */
export interface Direction {
  /** Bytes received from the sender, and bytes passed on to the receiver. */
  readonly received: number;
  readonly passed: number;
  /** From now on this direction has these faults in addition to its present ones; on open connections too. */
  become(faults: Partial<WayFaults>): void;
}

/** A TCP port in front of another one, with a bad network between them. */
export interface FaultProxy {
  readonly port: number;
  /** `http://127.0.0.1:port` and the target's path. */
  readonly url: string;
  /** Connections accepted so far, and open now. */
  readonly connections: number;
  readonly open: number;
  readonly toTarget: Direction;
  readonly toCaller: Direction;
  /** Removes all faults, in both directions. */
  heal(): void;
  /** Resets every open connection now, on both sides. */
  reset(): void;
  /** Open connections carry nothing any more, even after `heal`: as when a NAT forgets them. */
  lose(): void;
  /** New connections are refused; open ones stay. */
  refuse(): void;
  /** Accepts new connections again, on the same port. */
  accept(): Promise<void>;
  /** Resolves as soon as the condition holds; checked again at every change of a count. */
  until(holds: () => boolean): Promise<void>;
}

/** Faults of one connection only; the number of the connection counts from 1. */
export type OwnFaults = (connection: number) => {
  readonly toTarget?: Partial<WayFaults>;
  readonly toCaller?: Partial<WayFaults>;
};

interface Network {
  readonly counts: EventEmitter;
  readonly changes: EventEmitter;
  readonly links: Set<Link>;
  readonly toTarget: WayState;
  readonly toCaller: WayState;
}

interface WayState {
  faults: WayFaults;
  received: number;
  passed: number;
}

interface Link {
  isLost: boolean;
  breakOff(how: BreakKind): void;
  end(): void;
}

/**
 * Starts a port that leads to the target's port. Ends with the test.
 * @param targetUrl the URL whose host and port are behind the proxy
 */
export async function startFaultProxy(targetUrl: string, ownFaults: OwnFaults = () => ({})): Promise<FaultProxy> {
  const { hostname, port: targetPort, pathname } = new URL(targetUrl);
  const network: Network = {
    counts: new EventEmitter().setMaxListeners(0),
    changes: new EventEmitter().setMaxListeners(0),
    links: new Set(),
    toTarget: { faults: noFaults, received: 0, passed: 0 },
    toCaller: { faults: noFaults, received: 0, passed: 0 },
  };
  let connections = 0;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (caller) => {
    connections += 1;
    const target = connect({ port: Number(targetPort), host: hostname, allowHalfOpen: true, noDelay: true });
    openLink(caller, target, network, ownFaults(connections));
    network.counts.emit("counted");
  });
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => {
    server.close();
    for (const link of network.links) link.end();
  });
  return {
    port,
    url: `http://127.0.0.1:${port}${pathname === "/" ? "" : pathname}`,
    get connections() {
      return connections;
    },
    get open() {
      return network.links.size;
    },
    toTarget: describeWay(network.toTarget, network.changes),
    toCaller: describeWay(network.toCaller, network.changes),
    heal() {
      network.toTarget.faults = noFaults;
      network.toCaller.faults = noFaults;
      network.changes.emit("changed");
    },
    reset() {
      for (const link of network.links) link.breakOff("reset");
    },
    lose() {
      for (const link of network.links) link.isLost = true;
    },
    refuse: () => void server.close(),
    accept: () => listen(server, port),
    async until(holds) {
      while (!holds()) await once(network.counts, "counted");
    },
  };
}

async function listen(server: ReturnType<typeof createServer>, port: number): Promise<void> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
}

function describeWay(state: WayState, changes: EventEmitter): Direction {
  return {
    get received() {
      return state.received;
    },
    get passed() {
      return state.passed;
    },
    become(faults) {
      state.faults = { ...state.faults, ...faults };
      changes.emit("changed");
    },
  };
}

/** Joins two sockets in both directions, and ends both sockets when either direction is finished. */
function openLink(caller: Socket, target: Socket, network: Network, own: ReturnType<OwnFaults>): void {
  const over = new AbortController();
  const sockets = [caller, target];
  const link: Link = {
    isLost: false,
    breakOff(how) {
      over.abort();
      // After a truncation each side is still read to its end: closing a socket with unread bytes would reset it.
      for (const socket of sockets) {
        if (how === "reset") socket.resetAndDestroy();
        else socket.resume().end();
      }
    },
    end() {
      over.abort();
      for (const socket of sockets) socket.destroy();
    },
  };
  network.links.add(link);
  for (const socket of sockets) {
    socket
      .on("error", () => {})
      .on("close", () => {
        if (!sockets.every(({ destroyed }) => destroyed)) return;
        over.abort();
        network.links.delete(link);
        network.counts.emit("counted");
      });
  }
  const way = (from: Socket, to: Socket, state: WayState, faults: Partial<WayFaults> = {}) =>
    void travelOneWay({
      from,
      to,
      faults: () => ({ ...state.faults, ...faults, ...(link.isLost && { blackHole: true }) }),
      changes: network.changes,
      signal: over.signal,
      breakOff: link.breakOff,
      count(what, bytes) {
        state[what] += bytes;
        network.counts.emit("counted");
      },
    });
  way(caller, target, network.toTarget, own.toTarget);
  way(target, caller, network.toCaller, own.toCaller);
}
