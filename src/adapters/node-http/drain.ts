import type { Server } from "node:http";
import { Server as NetServer } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Clock, sleep } from "../../clock.ts";
import { Connections } from "./connections.ts";

export interface DrainTimes {
  /** How long open requests may take to end. */
  readonly openMs: number;
  /** What happens then, before the last words: nobody comes in any more. */
  readonly onTimeUp: () => void;
  /** How long refusals are given to latecomers after that. */
  readonly lateMs: number;
}

/**
 * Lets the open requests of some servers end: no new connections, idle ones closed, the others closed with their next
 * answer. Resolves to whether all connections were gone in time.
 */
export type Drain = (times: DrainTimes) => Promise<boolean>;

/**
 * A connection that looks idle may have its next request on the way, and closing it then fails that request. A busy
 * caller sends within this time and is told `Connection: close` with its answer; who is quiet for longer is idle.
 */
const quietMs = 500;
const sweepEveryMs = 50;

/** @param servers not yet listening: their connections are followed from the first on */
export function prepareDrain(servers: readonly Server[], clock: Clock): Drain {
  const connections = servers.map((server) => new Connections(server, clock));
  return async ({ openMs, onTimeUp, lateMs }) => {
    const startedMs = clock.nowMs();
    await acceptPending(connections, startedMs + quietMs, clock);
    let isClosed = false;
    const closed = Promise.all(servers.map(stopListening)).then(() => {
      isClosed = true;
    });
    const waitUntil = async (untilMs: number) => {
      while (!isClosed && clock.nowMs() < untilMs) {
        const quietFromMs = clock.nowMs() - quietMs;
        if (quietFromMs >= startedMs) for (const some of connections) some.closeQuiet(quietFromMs);
        await Promise.race([closed, sleep(clock, sweepEveryMs)]);
      }
      return isClosed;
    };
    if (await waitUntil(startedMs + openMs)) return true;
    onTimeUp();
    return waitUntil(startedMs + openMs + lateMs);
  };
}

/**
 * Connections that the kernel has taken for us would be reset. Node accepts one a turn of its loop, and it takes two
 * steps to be sure of a whole turn.
 */
async function acceptPending(connections: readonly Connections[], untilMs: number, clock: Clock): Promise<void> {
  const count = () => connections.reduce((sum, { accepted }) => sum + accepted, 0);
  for (let before = -1; count() > before && clock.nowMs() < untilMs; ) {
    before = count();
    await nextTurn();
    await nextTurn();
  }
}

/** `close` of an HTTP server would close the idle connections at once; the one it inherits only stops listening. */
function stopListening(server: Server): Promise<void> {
  return new Promise((done) => NetServer.prototype.close.call(server, () => done()));
}
