import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Clock, DeadlineTimer } from "../../model/clock.ts";
import type { Passage } from "../../pass-through/messages.ts";
import { endConnection, resetConnection } from "./closing.ts";

/**
 * Passes bytes both ways, each side as fast as the other reads, until both connections are closed. The end of one side ends
 * the other; a connection that breaks resets the other; and both are ended where nothing passes for `idleMs`.
 */
export function passBothWays(caller: Socket, upstream: Duplex, idleMs: number, clock: Clock): Promise<Passage> {
  const counted = { toService: 0, toCaller: 0 };
  let end: Passage["end"] = "closed";
  const idle = new DeadlineTimer(clock, () => {
    end = "idle";
    caller.unpipe(upstream);
    upstream.unpipe(caller);
    for (const side of [caller, upstream]) endConnection(side, clock);
  });
  const touch = () => idle.set(clock.nowMs() + idleMs);
  touch();
  caller.on("data", (bytes: Buffer) => {
    counted.toService += bytes.length;
    touch();
  });
  upstream.on("data", (bytes: Buffer) => {
    counted.toCaller += bytes.length;
    touch();
  });
  upstream.on("error", () => {
    // A side that is being ended may reset what it has not read.
    if (end === "closed") end = "broken";
    upstream.destroy();
    if (end === "broken") void resetConnection(caller, clock);
  });
  caller.pipe(upstream);
  upstream.pipe(caller);
  const bothClosed = [
    closeOf(caller).then(() => upstream.destroy()),
    closeOf(upstream).then(() => end === "closed" && !caller.destroyed && endConnection(caller, clock)),
  ];
  return Promise.all(bothClosed).then(() => {
    idle.close();
    return { ...counted, end };
  });
}

function closeOf(stream: Duplex): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) resolve();
    else stream.once("close", resolve);
  });
}
