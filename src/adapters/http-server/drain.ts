import { setImmediate as nextTurn } from "node:timers/promises";
import { type Clock, sleep } from "../../model/clock.ts";
import type { Listener } from "./listener.ts";

export interface DrainPlan {
  /**
   * Makes new requests wait for a moment. What it returns lets them go on, and from then on each response closes its
   * connection: callers that are sent away earlier would come back by new ones.
   */
  readonly hold: () => () => void;
  /** How long open requests may take to end. */
  readonly openMs: number;
  /** Called then: no request is let in any more. */
  readonly onTimeUp: () => void;
  /** How long late requests are refused after that. */
  readonly lateMs: number;
}

/**
 * A connection that looks idle may have its next request on the way, and closing it then fails that request. A busy
 * caller sends within this time and gets `Connection: close` with its response; one that is quiet for longer is idle.
 */
const quietMs = 1_000;
const sweepEveryMs = 50;

/**
 * Lets the open requests of a listener end: no new connections, idle ones closed, the others closed with their next
 * response. Resolves to whether all connections were gone in time.
 */
export async function drain(
  listener: Listener,
  clock: Clock,
  { hold, openMs, onTimeUp, lateMs }: DrainPlan,
): Promise<boolean> {
  const startedMs = clock.nowMs();
  const release = hold();
  await acceptPending(listener, startedMs + quietMs, clock);
  let isClosed = false;
  const closed = new Promise<void>((done) => {
    listener.server.close(() => {
      isClosed = true;
      done();
    });
  });
  release();
  const waitUntil = async (untilMs: number) => {
    while (!isClosed && clock.nowMs() < untilMs) {
      const quietFromMs = clock.nowMs() - quietMs;
      if (quietFromMs >= startedMs) listener.closeIdle(quietFromMs);
      await Promise.race([closed, sleep(clock, sweepEveryMs)]);
    }
    return isClosed;
  };
  if (!(await waitUntil(startedMs + openMs))) {
    onTimeUp();
    await waitUntil(startedMs + openMs + lateMs);
  }
  // What ends with its connection, as a WebSocket does, is reported a little later.
  await wholeTurn();
  return isClosed;
}

/**
 * Connections that the kernel has taken for us would be reset. Node accepts one a turn of its loop, so turns must be short:
 * that is why requests wait.
 */
async function acceptPending(listener: Listener, untilMs: number, clock: Clock): Promise<void> {
  for (let before = -1; listener.accepted > before && clock.nowMs() < untilMs; ) {
    before = listener.accepted;
    await wholeTurn();
  }
}

/** It takes two steps to be sure of a whole turn of the event loop. */
async function wholeTurn(): Promise<void> {
  await nextTurn();
  await nextTurn();
}
