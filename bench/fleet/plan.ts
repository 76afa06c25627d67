import { lifetimeMs } from "./authorization-server.ts";

export const phases = ["calm", "restarts", "outage", "mixed"] as const;
export type Phase = (typeof phases)[number];

/** What befalls the fleet during one life; moments are from the life's beginning. */
export interface Troubles {
  readonly restarts: readonly { readonly replica: number; readonly atMs: number }[];
  readonly outage: { readonly atMs: number; readonly forMs: number } | undefined;
}

/** The life in which Redis goes, the one on their own, and one shared again. */
const leastOutageLives = 3;
export const leastLives = phases.length - 1 + leastOutageLives;

/** How many replicas are restarted in a life. */
const restartShare = 0.3;
const shortestOutageMs = 5_000;
const longestOutageMs = 300_000;
const fetchMs = 1_000;
/** From here on the first replicas find their token due … */
const firstDueShare = 0.8;
/** … and from here on every one has. */
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
 * From the second tenth of a life, when every replica has taken up its token (one that has not is on its own for two
 * refreshes), and in its first half: an hour that begins later is touched by the lives of three tokens.
 */
function drawLongOutage(random: () => number): Troubles["outage"] {
  return { atMs: (0.1 + 0.4 * random()) * lifetimeMs, forMs: lifetimeMs };
}

/** Not while the token is being fetched: to kill a replica then costs one token more, which is promised elsewhere. */
function drawRestarts(replicas: number, random: () => number): Troubles["restarts"] {
  const drawMoment = () => fetchMs + random() * (firstDueShare * lifetimeMs - fetchMs);
  return Array.from({ length: replicas }, (_, replica) => ({ replica, atMs: drawMoment() })).filter(
    () => random() < restartShare,
  );
}
