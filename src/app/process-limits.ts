import { readFile } from "node:fs/promises";
import type { Config } from "../config/config.ts";

const mebibyte = 1_048_576;

/** What the process takes when it serves small bodies, garbage included; measured. */
const processBytes = 128 * mebibyte;
const leastBytes = 16 * mebibyte;
const mostBytes = 1_024 * mebibyte;
const withoutLimitBytes = 256 * mebibyte;

/** Connections to the admin and the status port, to authorization servers and Redis, standard streams, watched files, Node's own. */
const otherDescriptors = 256;

/**
 * The memory limit of the container, if there is one.
 * @param constrainedBytes what Node says, by which it sizes its heap too: 0 when unknown, and beyond all memory when unlimited
 */
export function containerMemory(constrainedBytes: number, totalBytes: number): number | undefined {
  return constrainedBytes > 0 && constrainedBytes < totalBytes ? constrainedBytes : undefined;
}

/**
 * `limits.bufferedBytes` where the configuration does not say it. Half of what is left for bodies: the other half is for
 * garbage that is not collected yet.
 * @param memoryBytes the container's limit; undefined where there is none
 */
export function defaultBudget(memoryBytes: number | undefined): number {
  if (memoryBytes === undefined) return withoutLimitBytes;
  return Math.min(Math.max(Math.floor((memoryBytes - processBytes) / 2), leastBytes), mostBytes);
}

/** The descriptors that a configuration can use: one for each connection of a listener and of a request in flight. */
export function neededDescriptors({ listeners, callbacks = [], environments, limits }: Config): number {
  const { connections, inFlightPerEnvironment } = limits;
  // A callback under way has a connection to the application.
  const inbound = callbacks.length * (connections + inFlightPerEnvironment);
  return listeners.length * connections + environments.size * inFlightPerEnvironment + inbound + otherDescriptors;
}

/**
 * How many descriptors the process may have, by the text of /proc/self/limits. Node has raised the soft limit to the hard
 * one by then.
 * @returns undefined where there is no bound, or none that can be read
 */
export function readDescriptorLimit(limits: string): number | undefined {
  const soft = /^Max open files +(\d+) /m.exec(limits)?.[1];
  return soft === undefined ? undefined : Number(soft);
}

/** What is missing, for the log; undefined where there is enough, or where it cannot be known. */
export async function warnOfDescriptors(config: Config): Promise<string | undefined> {
  const text = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const limit = readDescriptorLimit(text);
  const needed = neededDescriptors(config);
  if (limit === undefined || limit >= needed) return undefined;
  return `the process may open ${limit} descriptors and the limits need ${needed}: raise ulimit -n, or lower limits.connections`;
}
