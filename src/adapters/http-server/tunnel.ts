import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Clock, DeadlineTimer } from "../../model/clock.ts";
import type { Passage } from "../../pass-through/messages.ts";
import { endConnection, resetConnection } from "./closing.ts";

/**
 * Passes bytes both ways, each side as fast as the other reads, until both connections are closed. The end of one side ends
 * the other; a connection that breaks resets the other; and both break where nothing passes for `idleMs`.
 */
export function tunnel(client: Socket, upstream: Duplex, idleMs: number, clock: Clock): Promise<Passage> {
  const counted = { toService: 0, toClient: 0 };
  let end: Passage["end"] = "closed";
  const breakOff = (why: Passage["end"]) => {
    if (end === "closed") end = why;
    upstream.destroy();
    void resetConnection(client, clock);
  };
  const idle = new DeadlineTimer(clock, () => breakOff("idle"));
  const touch = () => idle.set(clock.nowMs() + idleMs);
  touch();
  client.on("data", (bytes: Buffer) => {
    counted.toService += bytes.length;
    touch();
  });
  upstream.on("data", (bytes: Buffer) => {
    counted.toClient += bytes.length;
    touch();
  });
  upstream.on("error", () => breakOff("broken"));
  client.pipe(upstream);
  upstream.pipe(client);
  const bothClosed = [
    closeOf(client).then(() => upstream.destroy()),
    closeOf(upstream).then(() => end === "closed" && !client.destroyed && endConnection(client, clock)),
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
