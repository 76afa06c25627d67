import { isFailedByService } from "../../model/events.ts";
import { getOrMake, type Series } from "./series.ts";

export interface Occurrence {
  readonly count: number;
  readonly lastAt: string;
}

type Ends = readonly Series<Partial<Readonly<Record<"by" | "status" | "code" | "operation", string | undefined>>>>[];
export type Tally = ReturnType<typeof tally>;

/** Counts requests by their end. */
export function tally(ends: Ends) {
  return {
    answeredBy: { service: 0, countersign: 0, ...countBy(ends, ({ labels }) => labels.by, countOf) },
    lastAt: ends.length === 0 ? undefined : lastOf(ends),
    /** By failure code. */
    failures: occurrences(ends, ({ labels }) => labels.code),
    /** The service's failures and refusals that were passed on to callers, by status. */
    refusals: occurrences(ends, ({ labels: { by, status, operation } }) => {
      return isFailedByService(by, Number(status), operation) ? status : undefined;
    }),
  };
}

/** How often each thing happened, and when last. */
export function occurrences<Labels extends object>(
  all: readonly Series<Labels>[],
  nameOf: KeyOf<Series<Labels>>,
): Record<string, Occurrence> {
  const entries = [...groupBy(all, nameOf)].map(([name, series]) => {
    return [name, { count: sumOf(series, countOf), lastAt: lastOf(series) }] as const;
  });
  return Object.fromEntries(entries);
}

export function countOf({ count }: { readonly count: number }): number {
  return count;
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
  nameOf: KeyOf<Item>,
  countOf: (item: Item) => number,
): Record<string, number> {
  return Object.fromEntries([...groupBy(items, nameOf)].map(([name, group]) => [name, sumOf(group, countOf)]));
}

/** Items without a key are left out. */
type KeyOf<Item> = (item: Item) => string | undefined;

export function groupBy<Item>(items: readonly Item[], keyOf: KeyOf<Item>): ReadonlyMap<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key !== undefined) getOrMake(groups, key, () => []).push(item);
  }
  return groups;
}
