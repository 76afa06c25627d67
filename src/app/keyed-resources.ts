import type { Cancel, Clock } from "../model/clock.ts";

/** How a resource ends. */
export interface Endings<Value> {
  /** Ends it together with its users: with the process, or because no configuration ever used it. */
  close(value: Value): Promise<void> | void;
  /** Ends one that was in use, once its users are done. Without it, `close` does that too. */
  retire?(value: Value): Promise<void> | void;
}

interface Entry<Value> {
  readonly value: Value;
  lingerMs: number;
  /** A committed configuration has used it. */
  isCommitted: boolean;
  cancelRetirement: Cancel | undefined;
}

/**
 * Resources that may outlive a configuration, each by a key that says all that it was made from. A configuration prepares
 * those that it wants, beside those in use. Once it is committed, all others are retired.
 */
export class KeyedResources<Value> {
  readonly #clock: Clock;
  readonly #endings: Endings<Value>;
  readonly #entries = new Map<string, Entry<Value>>();

  constructor(clock: Clock, endings: Endings<Value> = { close() {} }) {
    this.#clock = clock;
    this.#endings = endings;
  }

  /**
   * The resource of this key, created if there is none. One that waits for its retirement is reused.
   * @param lingerMs how long its users may still need it when a later configuration does not want it
   */
  prepare(key: string, create: () => Value, lingerMs = 0): Value {
    const entry = this.#entries.get(key) ?? this.#add(key, create());
    entry.lingerMs = Math.max(entry.lingerMs, lingerMs);
    entry.cancelRetirement?.();
    entry.cancelRetirement = undefined;
    return entry.value;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  /** All that have not ended, oldest first. */
  values(): Value[] {
    return [...this.#entries.values()].map(({ value }) => value);
  }

  /** Keeps the resources with these keys and retires all others. Those that were never committed close immediately. */
  commit(keys: Iterable<string>): void {
    const wanted = new Set(keys);
    for (const [key, entry] of this.#entries) {
      if (wanted.has(key)) entry.isCommitted = true;
      else if (!entry.isCommitted) this.#end(key, (value) => this.#endings.close(value));
      else if (entry.lingerMs === 0) this.#retire(key);
      else entry.cancelRetirement ??= this.#clock.after(entry.lingerMs, () => this.#retire(key));
    }
  }

  /** Closes all. Called again, it closes what has been prepared since. */
  async close(): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    for (const { cancelRetirement } of entries) cancelRetirement?.();
    await Promise.all(entries.map(({ value }) => this.#endings.close(value)));
  }

  #add(key: string, value: Value): Entry<Value> {
    const entry = { value, lingerMs: 0, isCommitted: false, cancelRetirement: undefined };
    this.#entries.set(key, entry);
    return entry;
  }

  #retire(key: string): void {
    const { close, retire = close } = this.#endings;
    this.#end(key, retire);
  }

  #end(key: string, ending: (value: Value) => Promise<void> | void): void {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    if (entry !== undefined) void ending(entry.value);
  }
}
