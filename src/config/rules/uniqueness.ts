import { Secret } from "../../model/secret.ts";
import { type Diagnostics, formatPath, type Path, type Problem } from "../diagnostics.ts";
import { fingerprintOf } from "../hash.ts";

/** A value that only one environment may have. */
export interface UniqueValue {
  readonly kind:
    | "origin"
    | "token endpoint"
    | "client id"
    | "key identifier"
    | "secret"
    | "caller token"
    | "site"
    | "certificate name";
  /** The same for equal values, see `uniqueKey`; a secret enters by its fingerprint, so that it stays outside the heap. */
  readonly key: string;
  readonly path: Path;
  readonly environment: string;
  /** The only one in the environment that may have the value; undefined: several may have it. */
  readonly owner?: string | undefined;
}

/**
 * Nothing of one environment may work in another (spec 7): a sandbox request must never become a real order. Within
 * an environment, a Key Identifier is unique (spec 5.3), and so is the token or certificate name of a caller. Environments may
 * share a token endpoint, but not on a host that another environment has as its baseUrl or authUrl.
 */
export class UniqueValues {
  readonly #firsts = new Map<string, UniqueValue>();

  /** The clash of a value with the added ones; undefined if there is none. */
  clashOf(value: UniqueValue): Pick<Problem, "message" | "fix"> | undefined {
    const first = this.#firsts.get(value.key);
    if (first === undefined) return undefined;
    const { kind, environment, owner } = value;
    if (environment !== first.environment) {
      const fix = `give environment ${environment} its own; environments share no host, client or key`;
      return { message: `the ${nameOf(kind)} is also environment ${first.environment}'s`, fix };
    }
    if (kind === "token endpoint" || owner === first.owner) return undefined;
    const fix = kind === "site" ? "keep one of the two" : `give each a ${kind} of its own`;
    return { message: `the same ${kind} is at ${formatPath(first.path)}`, fix };
  }

  /** Of equal values only the first is kept. */
  add(value: UniqueValue): void {
    if (value.kind !== "token endpoint" && !this.#firsts.has(value.key)) this.#firsts.set(value.key, value);
  }
}

/** Reports each value that clashes with an earlier one. Token endpoints come last, to be compared with every origin. */
export function checkUniqueness(all: readonly UniqueValue[], diagnostics: Diagnostics): UniqueValues {
  const values = new UniqueValues();
  const isEndpoint = ({ kind }: UniqueValue) => kind === "token endpoint";
  for (const value of [...all.filter((each) => !isEndpoint(each)), ...all.filter(isEndpoint)]) {
    const clash = values.clashOf(value);
    const found = value.kind === "secret" || value.kind === "caller token" ? "hidden" : undefined;
    if (clash !== undefined) diagnostics.report(value.path, clash.message, clash.fix, found);
    values.add(value);
  }
  return values;
}

function nameOf(kind: UniqueValue["kind"]): string {
  return kind === "token endpoint" ? "origin" : kind;
}

export function uniqueKey(kind: UniqueValue["kind"], value: string | Secret): string {
  if (kind === "secret" && value instanceof Secret) return fingerprintOf(value);
  // A template would keep its parts too, for each of thousands of sites.
  return [nameOf(kind), value instanceof Secret ? fingerprintOf(value) : value].join(" ");
}

/** Each item whose key an earlier item has, with the first item of that key; takes linear time. */
export function repeats<Item>(items: readonly Item[], keyOf: (item: Item) => string): [item: Item, first: Item][] {
  const firsts = new Map<string, Item>();
  return items.flatMap((item): [Item, Item][] => {
    const key = keyOf(item);
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, item);
    return first === undefined ? [] : [[item, first]];
  });
}
