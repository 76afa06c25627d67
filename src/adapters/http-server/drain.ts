import type { Server } from "node:http";
import { Server as NetServer } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Clock, sleep } from "../../model/clock.ts";
import type { Connections } from "./connections.ts";

export interface DrainPlan {
  /**
   * Makes new requests wait for a moment. What it returns lets them go on, and from then on each answer closes its
   * connection: callers that are told to go earlier come in again by new ones.
   */
  readonly hold: () => () => void;
  /** How long open requests may take to end. */
  readonly openMs: number;
  /** What happens then, before the last words: nobody comes in any more. */
  readonly onTimeUp: () => void;
  /** How long refusals are given to latecomers after that. */
  readonly lateMs: number;
}

/**
 * A connection that looks idle may have its next request on the way, and closing it then fails that request. A busy
 * caller sends within this time and is told `Connection: close` with its answer; who is quiet for longer is idle.
 */
const quietMs = 1_000;
const sweepEveryMs = 50;

/**
 * Lets the open requests of some servers end: no new connections, idle ones closed, the others closed with their next
 * answer. Resolves to whether all connections were gone in time.
 */
export async function drain(
  connections: readonly Connections[],
  clock: Clock,
  { hold, openMs, onTimeUp, lateMs }: DrainPlan,
): Promise<boolean> {
  const startedMs = clock.nowMs();
  const release = hold();
  await acceptPending(connections, startedMs + quietMs, clock);
  let isClosed = false;
  const closed = Promise.all(connections.map(({ server }) => stopListening(server))).then(() => {
    isClosed = true;
  });
  release();
  const waitUntil = async (untilMs: number) => {
    while (!isClosed && clock.nowMs() < untilMs) {
      const quietFromMs = clock.nowMs() - quietMs;
      // A busy loop comes to its timers before it has read what has long been there.
      await wholeTurn();
      if (quietFromMs >= startedMs) for (const some of connections) some.closeQuiet(quietFromMs);
      await Promise.race([closed, sleep(clock, sweepEveryMs)]);
    }
    return isClosed;
  };
  if (await waitUntil(startedMs + openMs)) return true;
  onTimeUp();
  return waitUntil(startedMs + openMs + lateMs);
}

/**
 * Connections that the kernel has taken for us would be reset. Node accepts one a turn of its loop, so turns must be short:
 * that is why requests wait.
 */
async function acceptPending(connections: readonly Connections[], untilMs: number, clock: Clock): Promise<void> {
  const count = () => connections.reduce((sum, { accepted }) => sum + accepted, 0);
  for (let before = -1; count() > before && clock.nowMs() < untilMs; ) {
    before = count();
    await wholeTurn();
  }
}

/** It takes two steps to be sure of a whole turn of the loop. */
export async function wholeTurn(): Promise<void> {
  await nextTurn();
  await nextTurn();
}

/** `close` of an HTTP server would close the idle connections at once; the one it inherits only stops listening. */
function stopListening(server: Server): Promise<void> {
  return new Promise((done) => NetServer.prototype.close.call(server, () => done()));
}
