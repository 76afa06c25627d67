import type { RedisClient } from "./client.ts";
import type { RedisConnection } from "./connection.ts";

/** A write that has the same effect when it is made later, and in any order with those of other names. */
export interface Write {
  /** The key of Redis that is written. */
  readonly name: string;
  readonly send: (client: RedisClient) => Promise<unknown>;
  /** Of writes with one id only the last counts. A write without an id stands for itself. */
  readonly id?: string;
}

interface DeferredWritesSettings {
  /** As many are kept. */
  readonly most: number;
  /** Whether a write that failed so is to be made later. */
  readonly keeps: (error: unknown) => boolean;
}

/** Makes writes, and keeps those that failed, in memory, until Redis is back. */
export class DeferredWrites {
  readonly #connection: Pick<RedisConnection, "run" | "onReturn">;
  readonly #settings: DeferredWritesSettings;
  readonly #kept = new Map<unknown, Write>();
  #isResuming = false;

  constructor(connection: Pick<RedisConnection, "run" | "onReturn">, settings: DeferredWritesSettings) {
    this.#connection = connection;
    this.#settings = settings;
    connection.onReturn(() => void this.resume());
  }

  /**
   * What was kept with the same id is out of date, and never follows.
   * @throws RedisFailure, also where the write is kept
   */
  async write(write: Write): Promise<void> {
    const { most, keeps } = this.#settings;
    this.#kept.delete(idOf(write));
    try {
      await this.#send(write);
    } catch (error) {
      if (keeps(error) && this.#kept.size < most) this.#kept.set(idOf(write), write);
      throw error;
    }
  }

  /**
   * Makes what is kept of one name.
   * @throws RedisFailure of the first that fails; it and the rest stay
   */
  async resumeOf(name: string): Promise<void> {
    for (const write of [...this.#kept.values()]) if (write.name === name) await this.#send(write);
  }

  /** Redis takes writes: makes what is kept, one after the other, up to the first that fails and is kept again. */
  async resume(): Promise<void> {
    if (this.#isResuming || this.#kept.size === 0) return;
    this.#isResuming = true;
    for (const write of [...this.#kept.values()]) {
      if (!this.#isKept(write)) continue;
      const error = await this.#send(write).catch((failure: unknown) => failure);
      if (error === undefined || !this.#isKept(write)) continue;
      this.#kept.delete(idOf(write));
      if (!this.#settings.keeps(error)) continue;
      // Behind the others: one that always fails holds none of them back.
      this.#kept.set(idOf(write), write);
      break;
    }
    this.#isResuming = false;
  }

  async #send(write: Write): Promise<void> {
    await this.#connection.run(write.name, write.send);
    if (this.#isKept(write)) this.#kept.delete(idOf(write));
  }

  /** Another one may have replaced it meanwhile. */
  #isKept(write: Write): boolean {
    return this.#kept.get(idOf(write)) === write;
  }
}

function idOf(write: Write): unknown {
  return write.id ?? write;
}
