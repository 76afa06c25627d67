import type { Config } from "../config/config.ts";
import type { Cancel, Clock } from "../model/clock.ts";

/**
 * A part of the running process that follows the configuration. All parts prepare for the next configuration while the active
 * one serves, and each may refuse it. Then all commit. If one refuses, all commit the active configuration again, which ends
 * the prepared resources.
 */
export interface Reloadable {
  /** Opens the resources of this configuration that are not open yet. Nothing in use changes. */
  prepare?(config: Config): Promise<void> | void;
  /** Activates this configuration, which was prepared, and retires resources that it does not need. Never fails. */
  commit(config: Config): void;
}

/** How a resource ends. */
interface Endings<Value> {
  /** Ends the resource and its users: the process ends, or no configuration ever used the resource. */
  close(value: Value): Promise<void> | void;
  /** Ends a resource that was in use, once its users are done. Absent: `close` does that too. */
  retire?(value: Value): Promise<void> | void;
}

/** A retired pool of connections lets its requests end; a closed one cuts them. */
export const poolEndings: Endings<{ close(): Promise<void> | void; destroy(): Promise<void> | void }> = {
  close: (pool) => pool.destroy(),
  retire: (pool) => pool.close(),
};

/** A resource stays open for this much longer than the deadline of its last user. */
export const lingerMarginMs = 1_000;

interface Entry<Value> {
  readonly value: Value;
  /** The last configuration that has prepared the resource, committed or refused. */
  preparedBy: Config;
  /** The last committed configuration that needs the resource. */
  usedBy: Config | undefined;
  lingerMs: number;
  cancelRetirement: Cancel | undefined;
}

/**
 * Resources that may outlive a configuration, each by a key of everything that it was made from. A configuration prepares the
 * resources that it needs. Once it is committed, all others are retired.
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
   * The resource of this key, created if missing, and reused if it waits for its retirement. A resource that the committed
   * configuration prepares is in use at once.
   * @param lingerMs how long its users may still need it after a configuration without it is committed
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

  /** The keys of all resources that have not ended. */
  keys(): IterableIterator<string> {
    return this.#entries.keys();
  }

  /** All resources that have not ended, oldest first. */
  values(): Value[] {
    return [...this.#entries.values()].map(({ value }) => value);
  }

  /** Keeps the resources that this configuration has prepared, and retires all others. One that was never used closes at once. */
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

  /** Closes all resources. A second call closes those that were prepared since. */
  async close(): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    for (const { cancelRetirement } of entries) cancelRetirement?.();
    await Promise.all(entries.map(({ value }) => this.#endings.close(value)));
  }
}
