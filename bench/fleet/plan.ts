import { lifetimeMs } from "./authorization-server.ts";

export const phases = ["calm", "restarts", "outage", "mixed"] as const;
export type Phase = (typeof phases)[number];

/** Restarts and outage of the fleet in one life; moments count from the life's beginning. */
export interface Troubles {
  readonly restarts: readonly { readonly replica: number; readonly atMs: number }[];
  readonly outage: { readonly atMs: number; readonly forMs: number } | undefined;
}

/** The life in which Redis goes, the life without Redis, and one with shared tokens again. */
const leastOutageLives = 3;
export const leastLives = phases.length - 1 + leastOutageLives;

/** How many replicas are restarted in a life. */
const restartShare = 0.3;
const shortestOutageMs = 5_000;
const longestOutageMs = 300_000;
const fetchMs = 1_000;
/** From this share of a life on, the first replicas find their token due … */
const firstDueShare = 0.8;
/** … and from this share on, every replica has. */
const lastDueShare = 0.88;

/** The phase of each life, in order: of 30 lives 10, 8, 4 and 8. */
export function sharePhases(lives: number): Phase[] {
  const outage = Math.max(leastOutageLives, Math.round(lives * 0.13));
  const restarts = Math.max(1, Math.round((lives - outage) * 0.31));
  const mixed = Math.max(1, Math.round((lives - outage) * 0.31));
  const calm = lives - outage - restarts - mixed;
  const counts: Record<Phase, number> = { calm, restarts, outage, mixed };
  return phases.flatMap((phase) => Array.from({ length: counts[phase] }, () => phase));
}

/** @param random uniform in [0, 1) */
export function drawTroubles(phase: Phase, isFirst: boolean, replicas: number, random: () => number): Troubles {
  switch (phase) {
    case "calm":
      return { restarts: [], outage: undefined };
    case "restarts":
      return { restarts: drawRestarts(replicas, random), outage: undefined };
    case "outage":
      return { restarts: [], outage: isFirst ? drawLongOutage(random) : undefined };
    case "mixed": {
      const isAway = random() < 0.75;
      const forMs = shortestOutageMs + random() * (longestOutageMs - shortestOutageMs);
      const outage = { atMs: random() * lastDueShare * lifetimeMs, forMs };
      return { restarts: drawRestarts(replicas, random), outage: isAway ? outage : undefined };
    }
  }
}

/**
 * Begins after the first tenth of a life, when every replica has read its token (a replica without it is alone for two
 * refreshes), and in the first half: an hour that begins later overlaps the lives of three tokens.
 */
function drawLongOutage(random: () => number): Troubles["outage"] {
  return { atMs: (0.1 + 0.4 * random()) * lifetimeMs, forMs: lifetimeMs };
}

/** Not while the token is being fetched: killing a replica then uses one more token, a promise that is tested elsewhere. */
function drawRestarts(replicas: number, random: () => number): Troubles["restarts"] {
  const drawMoment = () => fetchMs + random() * (firstDueShare * lifetimeMs - fetchMs);
  return Array.from({ length: replicas }, (_, replica) => ({ replica, atMs: drawMoment() })).filter(
    () => random() < restartShare,
  );
}
