import type { Server } from "node:http";
import { type Clock, sleep } from "../../clock.ts";

export interface DrainTimes {
  /** How long open requests may take to end. */
  readonly openMs: number;
  /** What happens then, before the last words: nobody comes in any more. */
  readonly onTimeUp: () => void;
  /** How long refusals are given to latecomers after that. */
  readonly lateMs: number;
}

const sweepEveryMs = 50;

/**
 * Lets the open requests of some servers end: no new connections, idle ones closed, the others closed with their next
 * answer.
 * @returns whether all connections were gone in time
 */
export async function drain(servers: readonly Server[], times: DrainTimes, clock: Clock): Promise<boolean> {
  let isClosed = false;
  const closed = Promise.all(servers.map((server) => new Promise<void>((done) => server.close(() => done())))).then(
    () => {
      isClosed = true;
    },
  );
  const waitFor = async (delayMs: number) => {
    const untilMs = clock.nowMs() + delayMs;
    while (!isClosed && clock.nowMs() < untilMs) {
      for (const server of servers) server.closeIdleConnections();
      await Promise.race([closed, sleep(clock, sweepEveryMs)]);
    }
    return isClosed;
  };
  if (await waitFor(times.openMs)) return true;
  times.onTimeUp();
  return waitFor(times.lateMs);
}
