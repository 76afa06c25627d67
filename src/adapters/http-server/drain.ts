import { setImmediate as nextTurn } from "node:timers/promises";
import { type Clock, sleep } from "../../model/clock.ts";
import { shutDown } from "../../model/errors.ts";
import type { Listener } from "./listener.ts";

export interface DrainPlan {
  /**
   * Makes new requests wait for a moment. The returned function lets them continue, and from then on each response closes
   * its connection: callers that are sent away earlier would come back on new connections.
   */
  readonly hold: () => () => void;
  /** Aborted when open requests have no more time: from then on none is accepted, and those under way get their answer. */
  readonly timeUp: AbortSignal;
  /** How long those answers may take. */
  readonly lateMs: number;
}

/**
 * A connection that looks idle may have its next request on the way, and closing it then fails that request. A busy
 * caller sends within this time and gets `Connection: close` with its response; a caller that is quiet for longer is idle.
 */
const quietMs = 1_000;
const sweepEveryMs = 50;
/** The rest of a request may come so long after the time is up: the answer to a whole request can say more. */
const restMs = 500;

/**
 * Lets the open requests of a listener end: no new connections, idle ones closed, the others closed with their next
 * response. Resolves to whether all connections were gone in time.
 */
export async function drain(listener: Listener, clock: Clock, { hold, timeUp, lateMs }: DrainPlan): Promise<boolean> {
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
  const sweep = () => {
    const quietFromMs = clock.nowMs() - quietMs;
    if (quietFromMs >= startedMs) listener.closeIdle(quietFromMs);
    return Promise.race([closed, sleep(clock, sweepEveryMs)]);
  };
  while (!isClosed && !timeUp.aborted) await sweep();
  if (!isClosed) {
    const timeUpMs = clock.nowMs();
    const untilMs = timeUpMs + lateMs;
    while (!isClosed && clock.nowMs() < untilMs) {
      if (clock.nowMs() >= timeUpMs + restMs) listener.refuseUnread(shutDown(false));
      await sweep();
    }
    await listener.cutAnswers();
  }
  // A request that ends with its connection, such as a WebSocket, is reported a little later.
  await wholeTurn();
  return isClosed;
}

/**
 * Accepts connections that wait in the kernel: a close would reset them. Node accepts one in each turn of its loop, so turns
 * must be short: that is why requests wait.
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
