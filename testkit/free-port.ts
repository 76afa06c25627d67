import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Below what systems give to outgoing connections (32768 and more), so that none of those takes it before its owner does. */
const lowest = 10_000;
const highest = 32_767;
/** More than there are processes that ask for ports at a time, those of other runs beside this one included. */
const ranges = 64;
const rangeLength = Math.floor((highest - lowest + 1) / ranges);

/** The lowest port of this process's range; it is given to nobody. */
let range: Promise<number> | undefined;
let next = 0;

/**
 * A port that is free now, and that is not given again soon: its owner may not listen there yet, or may have stopped for a
 * while. No other process is given it meanwhile, of this run or of another: it would get what is meant for the owner.
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

/** Who listens on the lowest port of a range has it, until its process ends, however that ends. */
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

/** Undefined where another program listens. */
async function listen(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, "127.0.0.1");
  return once(server, "listening").then(
    () => server,
    () => undefined,
  );
}
