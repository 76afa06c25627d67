import { readFile } from "node:fs/promises";
import type { Config } from "../config/config.ts";

/** Connections to the admin and the status port, to authorization servers and Redis, standard streams, watched files, Node's own. */
const besidesLimits = 256;

/** The descriptors that a configuration can use at once: one for each connection of a listener and of a request in flight. */
export function neededDescriptors({ listeners, environments, limits }: Config): number {
  const { connections, inFlightPerEnvironment } = limits;
  return listeners.length * connections + environments.size * inFlightPerEnvironment + besidesLimits;
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
