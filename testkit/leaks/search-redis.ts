import { setTimeout as sleep } from "node:timers/promises";
import type { Redis } from "ioredis";
import { searchOutflow } from "./outflow.ts";

/** The tests' servers answer at once, or a test has stopped them on purpose. */
const patienceMs = 500;

/** Searches the whole content of a Redis, names and values, before the server ends. */
export async function searchRedis(client: Redis): Promise<void> {
  await Promise.race([searchAll(client).catch(() => {}), sleep(patienceMs, undefined, { ref: false })]);
}

async function searchAll(client: Redis): Promise<void> {
  const names = await client.keysBuffer("*");
  for (const name of names) {
    const isText = (await client.type(name)) === "string";
    const value = isText ? await client.getBuffer(name) : await client.dumpBuffer(name);
    searchOutflow("Redis", `${readableName(name)} ${value?.toString("latin1") ?? ""}`);
  }
}

/** Replaces the hash in the name of a set's keys, which looks like a signature. */
function readableName(name: Buffer): string {
  return name.toString("latin1").replace(/^countersign:2:\{[0-9a-f]{64}\}/, "countersign:2:{set}");
}
