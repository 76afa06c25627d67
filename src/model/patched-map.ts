/** After so many replacements a new base is made. */
const mostPatches = 500;

/**
 * A map of thousands of entries, of which some have other values now. It never changes: the next version has the same base, whose
 * copy would take memory at each change of one entry.
 */
export class PatchedMap<Value> implements ReadonlyMap<string, Value> {
  readonly #base: ReadonlyMap<string, Value>;
  readonly #patches: ReadonlyMap<string, Value>;

  private constructor(base: ReadonlyMap<string, Value>, patches: ReadonlyMap<string, Value>) {
    this.#base = base;
    this.#patches = patches;
  }

  /** A map's base, which is the map itself unless it has patches. */
  static partsOf<Value>(map: ReadonlyMap<string, Value>) {
    if (!(map instanceof PatchedMap)) return { base: map, patches: new Map<string, Value>() };
    const patched: PatchedMap<Value> = map;
    return { base: patched.#base, patches: patched.#patches };
  }

  /** The keys whose values may differ, or that only one of the maps has. */
  static changedKeys<Value>(one: ReadonlyMap<string, Value>, other: ReadonlyMap<string, Value>): Set<string> {
    const [{ base, patches }, { base: otherBase, patches: others }] = [
      PatchedMap.partsOf(one),
      PatchedMap.partsOf(other),
    ];
    return new Set(base === otherBase ? [...patches.keys(), ...others.keys()] : [...base.keys(), ...otherBase.keys()]);
  }

  /** @param changes new values of keys that the map has */
  static with<Value>(map: ReadonlyMap<string, Value>, changes: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> {
    if (changes.size === 0) return map;
    const { base, patches: former } = PatchedMap.partsOf(map);
    const patches = new Map([...former, ...changes]);
    return patches.size > mostPatches ? new Map([...base, ...patches]) : new PatchedMap(base, patches);
  }

  get size(): number {
    return this.#base.size;
  }

  has(key: string): boolean {
    return this.#base.has(key);
  }

  get(key: string): Value | undefined {
    return this.#patches.get(key) ?? this.#base.get(key);
  }

  keys() {
    return this.#base.keys();
  }

  *entries(): MapIterator<[string, Value]> {
    for (const [key, value] of this.#base) yield [key, this.#patches.get(key) ?? value];
  }

  *values(): MapIterator<Value> {
    for (const [key, value] of this.#base) yield this.#patches.get(key) ?? value;
  }

  [Symbol.iterator]() {
    return this.entries();
  }

  forEach(use: (value: Value, key: string, map: ReadonlyMap<string, Value>) => void): void {
    for (const [key, value] of this.entries()) use(value, key, this);
  }
}
