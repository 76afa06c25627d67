/**
 * Parts that may outlive a configuration, by a key that says all that they were made from: what the next configuration
 * wants just so stays as it is.
 */
export class KeyedResources<Part> {
  readonly #parts = new Map<string, Part>();

  /** The part of this key, made if it is not there. */
  take(key: string, make: () => Part): Part {
    const part = this.#parts.get(key) ?? make();
    this.#parts.set(key, part);
    return part;
  }

  find(key: string): Part | undefined {
    return this.#parts.get(key);
  }

  /** Takes all other parts down, and returns them. */
  keepOnly(keys: Iterable<string>): Part[] {
    const wanted = new Set(keys);
    const rest = [...this.#parts].filter(([key]) => !wanted.has(key));
    for (const [key] of rest) this.#parts.delete(key);
    return rest.map(([, part]) => part);
  }

  all(): Part[] {
    return [...this.#parts.values()];
  }
}
