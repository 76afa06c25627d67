import type { Config } from "../config/config.ts";
import type { Cancel, Clock } from "../model/clock.ts";

/**
 * A part of the running process that follows the configuration. All parts prepare for the next configuration beside the
 * active one, and each may refuse. Then all commit. Where one refuses, all commit the active configuration again, which
 * ends what was prepared.
 */
export interface Reloadable {
  /** Opens what this configuration needs and is not open yet. Nothing in use changes. */
  prepare(config: Config): Promise<void> | void;
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
  lingerMs: number;
  /** A committed configuration has used it. */
  isCommitted: boolean;
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

  constructor(clock: Clock, endings: Endings<Value> = { close() {} }) {
    this.#clock = clock;
    this.#endings = endings;
  }

  /**
   * The resource of this key, created if there is none. One that waits for its retirement is reused.
   * @param lingerMs how long its users may still need it when a later configuration does not want it
   */
  prepare(key: string, create: () => Value, lingerMs = 0): Value {
    const found = this.#entries.get(key);
    found?.cancelRetirement?.();
    const { value, isCommitted } = found ?? { value: create(), isCommitted: false };
    const longestMs = Math.max(lingerMs, found?.lingerMs ?? 0);
    this.#entries.set(key, { value, lingerMs: longestMs, isCommitted, cancelRetirement: undefined });
    return value;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  /** All that have not ended, oldest first. */
  entries(): [key: string, value: Value][] {
    return [...this.#entries].map(([key, { value }]) => [key, value]);
  }

  values(): Value[] {
    return this.entries().map(([, value]) => value);
  }

  /** Keeps the resources with these keys and retires all others. Those that were never committed close immediately. */
  commit(keys: Iterable<string>): void {
    const { close, retire = close } = this.#endings;
    const wanted = new Set(keys);
    for (const [key, entry] of this.#entries) {
      const end = () => {
        this.#entries.delete(key);
        void (entry.isCommitted ? retire(entry.value) : close(entry.value));
      };
      if (wanted.has(key)) entry.isCommitted = true;
      else if (!entry.isCommitted || entry.lingerMs === 0) end();
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
