/** An order that was not created although its caller waited. */
export interface Failure {
  readonly label: string;
  readonly replica: string;
  readonly site: string;
  /** The order's number, which is its reference. */
  readonly number: number;
  readonly requestId: string | undefined;
  readonly sentMs: number;
  readonly endedMs: number;
}

/** One fault, from its beginning to the recovery from it. */
export interface Episode {
  /** Labels of the failures that it may cause. */
  readonly allows: readonly string[];
  readonly startedMs: number;
  /** When each replica had first served each site after the fault's end (`replicaAndSite`). */
  readonly recoveredMs: ReadonlyMap<string, number>;
}

export function replicaAndSite({ replica, site }: Pick<Failure, "replica" | "site">): string {
  return `${replica} ${site}`;
}

/**
 * The fault that explains a failure: it lasted while the order was on its way, or its replica had not recovered
 * from it when the order was sent, and it may cause just this failure.
 */
export function explain<Fault extends Episode>(failure: Failure, episodes: readonly Fault[]): Fault | undefined {
  return episodes.find(({ allows, startedMs, recoveredMs }) => {
    const openUntilMs = recoveredMs.get(replicaAndSite(failure)) ?? Number.POSITIVE_INFINITY;
    return allows.includes(failure.label) && failure.endedMs >= startedMs && failure.sentMs <= openUntilMs;
  });
}
