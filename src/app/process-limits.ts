import { readFile } from "node:fs/promises";
import type { Config } from "../config/config.ts";
import type { Report } from "../model/events.ts";

const mebibyte = 1_048_576;

/** The memory of the process when it serves small bodies, garbage included; measured. */
const processBytes = 128 * mebibyte;
const leastBytes = 16 * mebibyte;
const mostBytes = 1_024 * mebibyte;
const withoutLimitBytes = 256 * mebibyte;

/** For the admin and status ports, authorization servers, Redis, standard streams, watched files, and Node itself. */
const otherDescriptors = 256;
/** The share of callers' connections that is served. The others are answered that there are too many. */
const servedShare = 0.75;

/**
 * The memory limit of the container, if there is one.
 * @param constrainedBytes Node's figure, which sizes its heap too: 0 when unknown, and beyond all memory when unlimited
 */
export function containerMemory(constrainedBytes: number, totalBytes: number): number | undefined {
  return constrainedBytes > 0 && constrainedBytes < totalBytes ? constrainedBytes : undefined;
}

/**
 * `limits.bufferedBytes` if the configuration does not set it: half of the memory that is left for bodies. The other half is
 * for garbage that is not collected yet.
 * @param memoryBytes the container's limit; undefined if there is none
 */
export function defaultBudget(memoryBytes: number | undefined): number {
  if (memoryBytes === undefined) return withoutLimitBytes;
  return Math.min(Math.max(Math.floor((memoryBytes - processBytes) / 2), leastBytes), mostBytes);
}

/** The settings that decide how many descriptors are needed. */
type Sized = Pick<Config, "listeners" | "callbacks" | "environments" | "limits">;

/** The descriptors that a configuration can use: one for each connection of a listener, and one for each request in flight. */
export function neededDescriptors(config: Sized): number {
  return listenersOf(config) * config.limits.connections + neededUpstream(config) + otherDescriptors;
}

/**
 * How many connections each listener accepts and serves, if descriptors do not suffice for twice as many as it serves. Even a
 * crowd of callers then leaves descriptors for connections to the service: at least as many as requests in flight need, or
 * half of the rest, if that is less.
 * @param descriptors the limit of the process; undefined if there is none, or it cannot be read
 * @returns undefined if there are enough
 */
export function fittingConnections(
  config: Sized,
  descriptors: number | undefined,
): { readonly accepted: number; readonly served: number } | undefined {
  if (descriptors === undefined) return undefined;
  const { connections } = config.limits;
  const spare = descriptors - neededDescriptors(config);
  if (spare >= 0) {
    const accepted = connections + Math.floor(spare / listenersOf(config));
    return accepted < connections * 2 ? { accepted, served: connections } : undefined;
  }
  const left = descriptors - Math.min(otherDescriptors, Math.ceil(descriptors / 2));
  const forCallers = Math.max(left - neededUpstream(config), Math.floor(left / 2));
  const each = Math.max(2, Math.floor(forCallers / listenersOf(config)));
  return { accepted: Math.min(connections * 2, each), served: Math.min(connections, Math.floor(each * servedShare)) };
}

/** A callback under way has a connection to the application; streams of pass-through routes have a limit of their own. */
function neededUpstream({ callbacks, environments, limits }: Sized): number {
  const streamed = [...environments.values()].filter(({ passThrough }) => passThrough !== undefined);
  return (environments.size + streamed.length + callbacks.length) * limits.inFlightPerEnvironment;
}

function listenersOf({ listeners, callbacks }: Sized): number {
  return listeners.length + callbacks.length;
}

/**
 * The process's limit of descriptors. Node has already raised the soft limit to the hard one.
 * @returns undefined if there is no limit, or it cannot be read
 */
export async function askDescriptorLimit(): Promise<number | undefined> {
  const limits = await readFile("/proc/self/limits", "utf8").catch(() => "");
  return readDescriptorLimit(limits);
}

/** @param limits the text of /proc/self/limits; empty on systems other than Linux, where Node's diagnostic report has it */
export function readDescriptorLimit(limits: string): number | undefined {
  const soft = Number(/^Max open files +(\S+) /m.exec(limits)?.[1] ?? reportedLimit());
  return Number.isInteger(soft) ? soft : undefined;
}

/** A number, or `unlimited`. */
function reportedLimit(): unknown {
  const report = process.report.getReport() as { readonly userLimits?: { readonly open_files?: { soft: unknown } } };
  return report.userLimits?.open_files?.soft;
}

/**
 * Fits the limits of connections to the descriptors, and warns if there are too few, once for each figure.
 * @param descriptors see `askDescriptorLimit`
 */
export function createDescriptorFit(descriptors: number | undefined, report: Report): (config: Config) => Config {
  let said = "";
  return (config) => {
    const fitting = fittingConnections(config, descriptors);
    if (fitting === undefined) return config;
    const { limits } = config;
    const { accepted, served } = fitting;
    const needed = neededDescriptors(config);
    if (descriptors !== undefined && descriptors < needed) {
      const lacks = `the process may open ${descriptors} descriptors and the limits need ${needed}`;
      const isLowered = served < limits.connections;
      const outcome = isLowered ? `, so each listener serves ${served} connections, not ${limits.connections}` : "";
      const message = `${lacks}${outcome}: raise ulimit -n, or lower limits.connections`;
      if (message !== said) report({ kind: "configuration_warned", code: "descriptors_few", path: "limits", message });
      said = message;
    }
    return { ...config, limits: { ...limits, connections: served, acceptedConnections: accepted } };
  };
}
