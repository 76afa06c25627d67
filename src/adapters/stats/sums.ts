import type { Series } from "./series.ts";

/** How often, and when last. */
export interface Occurrence {
  readonly count: number;
  readonly lastAt: string;
}

type Ends = readonly Series<Partial<Readonly<Record<"by" | "status" | "code", string | undefined>>>>[];
export type Tally = ReturnType<typeof tally>;

/** Requests by their end. */
export function tally(ends: Ends) {
  const failures = ends.filter(({ labels: { code } }) => code !== undefined);
  const refusals = ends.filter(({ labels: { by, status } }) => by === "service" && Number(status) >= 400);
  return {
    answeredBy: { service: 0, countersign: 0, ...countBy(ends, ({ labels: { by = "" } }) => by, keptOf) },
    lastAt: ends.length === 0 ? undefined : lastOf(ends),
    /** By failure code. */
    failures: occurrences(failures, ({ labels: { code = "" } }) => code),
    /** The service's answers of 4xx and 5xx that were passed on to callers, by status. */
    refusals: occurrences(refusals, ({ labels: { status = "" } }) => status),
  };
}

/** How often each thing happened, and when last. */
export function occurrences<Labels extends object>(
  all: readonly Series<Labels>[],
  nameOf: (series: Series<Labels>) => string,
): Record<string, Occurrence> {
  const entries = [...groupBy(all, nameOf)].map(([name, series]) => {
    return [name, { count: sumOf(series, keptOf), lastAt: lastOf(series) }] as const;
  });
  return Object.fromEntries(entries);
}

export function countOf({ count }: { readonly count: number }): number {
  return count;
}

export function keptOf({ kept }: Series): number {
  return kept;
}

function lastOf(all: readonly Series[]): string {
  return formatTime(Math.max(...all.map(({ lastMs = 0 }) => lastMs)));
}

/** As `/status` shows times: ISO 8601 in UTC, as the log has them. */
export function formatTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}

export function sumOf<Item>(items: readonly Item[], read: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + read(item), 0);
}

/** Adds the counts of items that have the same name. */
export function countBy<Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
  countOf: (item: Item) => number,
): Record<string, number> {
  return Object.fromEntries([...groupBy(items, nameOf)].map(([name, group]) => [name, sumOf(group, countOf)]));
}

export function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): ReadonlyMap<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
