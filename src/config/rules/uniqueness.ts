import { Secret } from "../../model/secret.ts";
import type { Diagnostics, Path } from "../diagnostics.ts";
import { fingerprintOf } from "../hash.ts";

/** Something that belongs to one environment alone; its path is below `environments.<name>`. */
export interface UniqueValue {
  readonly kind: "origin" | "token endpoint" | "client id" | "key identifier" | "secret";
  readonly value: string | Secret;
  readonly path: Path;
}

/**
 * Nothing of one environment may work in another (spec 7): a sandbox request must never become a real order. Within
 * one, a Key Identifier is unique (spec 5.3). Environments may have their clients at one token endpoint, but not on a
 * host that another one has as its baseUrl or authUrl.
 */
export function checkUniqueness(all: readonly UniqueValue[], diagnostics: Diagnostics): void {
  const values = all.filter(({ kind }) => kind !== "token endpoint");
  const shared = repeats(values, keyOf);
  for (const endpoint of all.filter(({ kind }) => kind === "token endpoint")) {
    const first = values.find(
      ({ kind, value, path }) => kind === "origin" && value === endpoint.value && path[1] !== endpoint.path[1],
    );
    if (first !== undefined) shared.push([{ ...endpoint, kind: "origin" }, first]);
  }
  for (const [{ kind, path }, first] of shared) {
    const [, own] = path;
    const [, other] = first.path;
    if (own !== other) {
      const fix = `give environment ${own} its own; environments share no host, client or key`;
      const found = kind === "secret" ? "hidden" : undefined;
      diagnostics.report(path, `the ${kind} is also environment ${other}'s`, fix, found);
    } else if (kind === "key identifier") {
      diagnostics.report(path, "this key is configured twice", "keep one; it is unique per key pair (spec 5.3)");
    }
  }
}

/** The same for equal values. A secret enters by its fingerprint, so that it stays outside the heap. */
function keyOf({ kind, value }: UniqueValue): string {
  return `${kind} ${value instanceof Secret ? fingerprintOf(value) : value}`;
}

/** Each item whose key an earlier one has, with the first such one; takes time in proportion to their number. */
export function repeats<Item>(items: readonly Item[], keyOf: (item: Item) => string): [item: Item, first: Item][] {
  const firsts = new Map<string, Item>();
  return items.flatMap((item): [Item, Item][] => {
    const key = keyOf(item);
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, item);
    return first === undefined ? [] : [[item, first]];
  });
}
