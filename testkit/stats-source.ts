import type { Configured, Source } from "../src/adapters/stats/source.ts";
import { createWallTime, systemClock } from "../src/model/clock.ts";

/** An empty configuration, in the form that the gauges read; `change` replaces fields. */
export function configuredOf(change: Partial<Configured> = {}): Configured {
  return {
    hash: "0123456789ab",
    environments: [],
    listeners: [],
    callers: [],
    callbacks: [],
    redisNodes: [],
    limits: { inFlightPerEnvironment: 256, connections: 1_024 },
    isTraced: false,
    namesSites: true,
    ...change,
  };
}

/** The source of gauges and `/status`, with nothing in progress; `change` replaces fields. */
export function statsSource(change: Partial<Source> = {}): Source {
  return {
    configured: () => configuredOf(),
    routes: () => [],
    inFlight: () => new Map(),
    connections: () => [],
    buffers: () => ({ usedBytes: 0, limitBytes: 1 }),
    credentials: () => [],
    redis: () => [],
    unwritten: () => 0,
    reload: () => ({ inForceSince: undefined, lastRefused: undefined }),
    readAssertion: async () => ({ kind: "failed" }),
    droppedLogLines: () => 0,
    wallTime: createWallTime(systemClock),
    ...change,
  };
}
