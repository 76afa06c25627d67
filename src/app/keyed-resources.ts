import type { Config } from "../config/config.ts";
import type { Cancel, Clock } from "../model/clock.ts";

/**
 * A part of the running process that follows the configuration. All parts prepare for the next configuration beside the
 * active one, and each may refuse. Then all commit. Where one refuses, all commit the active configuration again, which
 * ends what was prepared.
 */
export interface Reloadable {
  /** Opens what this configuration needs and is not open yet. Nothing in use changes. */
  prepare?(config: Config): Promise<void> | void;
  /** Serves by this configuration, which was prepared, and retires what it does not need. Never fails. */
  commit(config: Config): void;
}

/** How a resource ends. */
interface Endings<Value> {
  /** Ends it together with its users: with the process, or because no configuration ever used it. */
  close(value: Value): Promise<void> | void;
  /** Ends one that was in use, once its users are done. Without it, `close` does that too. */
  retire?(value: Value): Promise<void> | void;
}

/** A pool of connections lets its requests end, unless the process ends. */
export const poolEndings: Endings<{ close(): Promise<void> | void; destroy(): Promise<void> | void }> = {
  close: (pool) => pool.destroy(),
  retire: (pool) => pool.close(),
};

/** What is used until a deadline outlives the deadline of its last user by this much. */
export const lingerMarginMs = 1_000;

interface Entry<Value> {
  readonly value: Value;
  /** The last configuration that has prepared it, committed or refused. */
  preparedBy: Config;
  /** The last committed one that wants it. */
  usedBy: Config | undefined;
  lingerMs: number;
  cancelRetirement: Cancel | undefined;
}

/**
 * What may outlive a configuration, each by a key that says all that it was made from. A configuration prepares what it
 * wants, beside what is in use. Once it is committed, everything else is retired.
 */
export class KeyedResources<Value> {
  readonly #clock: Clock;
  readonly #endings: Endings<Value>;
  readonly #entries = new Map<string, Entry<Value>>();
  #committed: Config | undefined;

  constructor(clock: Clock, endings: Endings<Value> = { close() {} }) {
    this.#clock = clock;
    this.#endings = endings;
  }

  /**
   * The resource of this key, created if there is none. One that waits for its retirement is reused. The configuration that
   * was committed last may prepare more: it is in use at once.
   * @param lingerMs how long its users may still need it when a later configuration does not want it
   */
  prepare(config: Config, key: string, create: () => Value, lingerMs = 0): Value {
    const entry: Entry<Value> = this.#entries.get(key) ?? {
      value: create(),
      preparedBy: config,
      usedBy: undefined,
      lingerMs,
      cancelRetirement: undefined,
    };
    this.#entries.set(key, entry);
    entry.preparedBy = config;
    if (config === this.#committed) entry.usedBy = config;
    entry.lingerMs = Math.max(lingerMs, entry.lingerMs);
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

  /** Keeps what this configuration has prepared, and retires all else. What was never committed closes immediately. */
  commit(config: Config): void {
    const { close, retire = close } = this.#endings;
    this.#committed = config;
    for (const [key, entry] of this.#entries) {
      if (entry.preparedBy === config || entry.usedBy === config) {
        entry.preparedBy = config;
        entry.usedBy = config;
        continue;
      }
      const end = () => {
        this.#entries.delete(key);
        void (entry.usedBy === undefined ? close(entry.value) : retire(entry.value));
      };
      if (entry.usedBy === undefined || entry.lingerMs === 0) end();
      else entry.cancelRetirement ??= this.#clock.after(entry.lingerMs, end);
    }
  }

  /** Closes all. Called again, it closes what has been prepared since. */
  async close(): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    for (const { cancelRetirement } of entries) cancelRetirement?.();
    await Promise.all(entries.map(({ value }) => this.#endings.close(value)));
  }
}
