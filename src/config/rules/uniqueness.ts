import { Secret } from "../../model/secret.ts";
import { type Diagnostics, formatPath, type Path } from "../diagnostics.ts";
import { fingerprintOf } from "../hash.ts";

/** Something that belongs to one environment alone. */
export interface UniqueValue {
  readonly kind:
    | "origin"
    | "token endpoint"
    | "client id"
    | "key identifier"
    | "secret"
    | "caller token"
    | "certificate name";
  readonly value: string | Secret;
  readonly path: Path;
  readonly environment: string;
  /** Who alone may have it there; undefined: it may stand there several times. */
  readonly owner?: string | undefined;
}

/**
 * Nothing of one environment may work in another (spec 7): a sandbox request must never become a real order. Within
 * one, a Key Identifier is unique (spec 5.3), and what proves a caller is that caller's. Environments may have their
 * clients at one token endpoint, but not on a host that another one has as its baseUrl or authUrl.
 */
export function checkUniqueness(all: readonly UniqueValue[], diagnostics: Diagnostics): void {
  const values = all.filter(({ kind }) => kind !== "token endpoint");
  const shared = repeats(values, keyOf);
  for (const endpoint of all.filter(({ kind }) => kind === "token endpoint")) {
    const first = values.find(
      ({ kind, value, environment }) =>
        kind === "origin" && value === endpoint.value && environment !== endpoint.environment,
    );
    if (first !== undefined) shared.push([{ ...endpoint, kind: "origin" }, first]);
  }
  for (const [{ kind, value, path, environment, owner }, first] of shared) {
    const found = value instanceof Secret ? "hidden" : undefined;
    if (environment !== first.environment) {
      const fix = `give environment ${environment} its own; environments share no host, client or key`;
      diagnostics.report(path, `the ${kind} is also environment ${first.environment}'s`, fix, found);
    } else if (owner !== first.owner) {
      const message = `the same ${kind} is at ${formatPath(first.path)}`;
      diagnostics.report(path, message, `give each a ${kind} of its own`, found);
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
