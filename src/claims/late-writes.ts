import { type Cancel, type Clock, sleep, within } from "../model/clock.ts";

/** A write that has the same effect when it is made later. */
export interface LateWrite {
  /** The name of the record. */
  readonly name: string;
  /** A write replaces earlier ones with the same id. */
  readonly id: string;
  /** Not tried any more from this moment on; on the monotonic clock. */
  readonly untilMs: number;
  readonly send: () => Promise<void>;
}

const retryIntervalMs = 1_000;
/** At the end there is little time: a store that refuses writes is asked more often, for so long in all. */
const closingRetryMs = 100;
const closingMs = 2_000;
/** Each takes a few hundred bytes. */
const maxPending = 4_096;

/** Makes writes. A failed write, whatever the reason, is kept in memory and tried again each second until its time is over. */
export class LateWrites {
  readonly #clock: Clock;
  readonly #pending = new Map<string, LateWrite>();
  #dropped = 0;
  /** Undefined while nothing is pending. */
  #cancelRetry: Cancel | undefined;
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @param later the write that is kept after a failure: it may be shorter
   * @throws the error of the write, even if it is kept
   */
  async write(write: LateWrite, later = write): Promise<void> {
    this.#pending.delete(write.id);
    try {
      await this.#send(write);
    } catch (error) {
      this.keep(later);
      throw error;
    }
  }

  /** Failed writes that have not been made: they wait, or were dropped. */
  get unmade(): number {
    return this.#pending.size + this.#dropped;
  }

  /** Keeps a write for a try within a second or so. If too many are pending, the new write is dropped. */
  keep(write: LateWrite): void {
    if (this.#isClosed || (this.#pending.size >= maxPending && !this.#pending.has(write.id))) {
      this.#dropped++;
      return;
    }
    this.#pending.set(write.id, write);
    this.#scheduleRetry();
  }

  /**
   * Makes the pending writes of one name.
   * @throws the error of the first failed write; it and the rest stay
   */
  async resume(name: string): Promise<void> {
    for (const write of [...this.#pending.values()]) if (write.name === name) await this.#send(write);
  }

  /** Makes the pending writes, and drops those that cannot be made within two seconds. */
  async close(): Promise<void> {
    await within(this.#clock, this.#makeAll(), closingMs);
    this.#isClosed = true;
    this.#pending.clear();
    this.#cancelRetry?.();
  }

  async #makeAll(): Promise<void> {
    for (;;) {
      await this.#retryAll();
      if (this.#pending.size === 0) return;
      await sleep(this.#clock, closingRetryMs);
    }
  }

  #scheduleRetry(): void {
    this.#cancelRetry ??= this.#clock.after(retryIntervalMs, async () => {
      await this.#retryAll();
      this.#cancelRetry = undefined;
      if (this.#pending.size > 0) this.#scheduleRetry();
    });
  }

  /** Tries the pending writes one after the other, until one fails. The failed one moves to the end, so that it blocks no other. */
  async #retryAll(): Promise<void> {
    for (const write of [...this.#pending.values()]) {
      if (!this.#isPending(write)) continue;
      if (this.#clock.nowMs() >= write.untilMs) {
        this.#pending.delete(write.id);
        this.#dropped++;
        continue;
      }
      const isMade = await this.#send(write).then(
        () => true,
        () => false,
      );
      if (isMade || !this.#isPending(write)) continue;
      this.#pending.delete(write.id);
      this.#pending.set(write.id, write);
      break;
    }
  }

  async #send(write: LateWrite): Promise<void> {
    await write.send();
    if (this.#isPending(write)) this.#pending.delete(write.id);
  }

  /** False if a later write with the same id has replaced it. */
  #isPending(write: LateWrite): boolean {
    return this.#pending.get(write.id) === write;
  }
}
