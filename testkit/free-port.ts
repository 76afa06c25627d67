import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Below the ports that systems use for outgoing connections (32768 and more), so that no such connection takes a port before its owner does. */
const lowest = 10_000;
const highest = 32_767;
/** More ranges than processes that ask for ports at a time, including those of other test runs. */
const ranges = 64;
const rangeLength = Math.floor((highest - lowest + 1) / ranges);

/** The lowest port of this process's range; it is never returned. */
let range: Promise<number> | undefined;
let next = 0;

/**
 * A port that is free now, and that is not returned again soon: its owner may not listen there yet, or may have stopped for a
 * while. Meanwhile no other process gets it, of this run or of another, since that process would receive the owner's requests.
 */
export async function freePort(): Promise<number> {
  range ??= takeRange();
  const first = (await range) + 1;
  for (;;) {
    const port = first + next;
    next = (next + 1) % (rangeLength - 1);
    const server = await listen(port);
    if (server === undefined) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}

/** The process that listens on the lowest port of a range owns the range, until the process ends, however it ends. */
async function takeRange(): Promise<number> {
  const start = randomInt(ranges);
  for (let tried = 0; tried < ranges; tried += 1) {
    const first = lowest + ((start + tried) % ranges) * rangeLength;
    const server = await listen(first);
    if (server === undefined) continue;
    server.unref();
    return first;
  }
  throw new Error(`all ${ranges} ranges of ports are taken: too many processes run tests at once`);
}

/** Undefined if another program listens on the port. */
async function listen(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, "127.0.0.1");
  return once(server, "listening").then(
    () => server,
    () => undefined,
  );
}
