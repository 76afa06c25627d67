import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below what systems give to outgoing connections (32768 and more), so that none of those takes it before its owner does. */
const lowest = 10_000;
const highest = 32_767;

/** Vitest runs this many test files at once at most. */
const mostWorkers = 16;
/** Each worker has ports of its own: another one could take a port before its owner listens there. */
const worker = Number(process.env["VITEST_POOL_ID"] ?? 0) % mostWorkers;
const ports = Math.floor((highest - lowest) / mostWorkers);
let next = randomInt(ports);

/** A port that is free now, and that is not given again soon: its owner may not listen there yet. */
export async function freePort(): Promise<number> {
  for (;;) {
    next = (next + 1) % ports;
    const port = lowest + worker + mostWorkers * next;
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  const isListening = await once(server, "listening").then(
    () => true,
    () => false,
  );
  if (!isListening) return false;
  server.close();
  await once(server, "close");
  return true;
}
