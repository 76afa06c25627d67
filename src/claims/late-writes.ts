import type { Cancel, Clock } from "../model/clock.ts";

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

const tryEveryMs = 1_000;
/** Each takes a few hundred bytes. */
const mostKept = 4_096;

/** Makes writes. A failed write, whatever the reason, is kept in memory and tried again each second until its time is over. */
export class LateWrites {
  readonly #clock: Clock;
  readonly #kept = new Map<string, LateWrite>();
  /** Undefined while nothing is kept. */
  #cancelTry: Cancel | undefined;
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @param later the write that is kept after a failure: it may be shorter
   * @throws the error of the write, even if it is kept
   */
  async write(write: LateWrite, later = write): Promise<void> {
    this.#kept.delete(write.id);
    try {
      await this.#send(write);
    } catch (error) {
      this.keep(later);
      throw error;
    }
  }

  /** Keeps a write for a try within a second or so. If too many are kept, the new write is dropped. */
  keep(write: LateWrite): void {
    if (this.#isClosed || (this.#kept.size >= mostKept && !this.#kept.has(write.id))) return;
    this.#kept.set(write.id, write);
    this.#tryLater();
  }

  /**
   * Makes the kept writes of one name.
   * @throws the error of the first failed write; it and the rest stay
   */
  async resume(name: string): Promise<void> {
    for (const write of [...this.#kept.values()]) if (write.name === name) await this.#send(write);
  }

  close(): void {
    this.#isClosed = true;
    this.#kept.clear();
    this.#cancelTry?.();
  }

  #tryLater(): void {
    this.#cancelTry ??= this.#clock.after(tryEveryMs, () => void this.#tryAll());
  }

  /** Tries the kept writes one after the other, until one fails. The failed one moves to the end, so that it blocks no other. */
  async #tryAll(): Promise<void> {
    for (const write of [...this.#kept.values()]) {
      if (!this.#isKept(write)) continue;
      if (this.#clock.nowMs() >= write.untilMs) {
        this.#kept.delete(write.id);
        continue;
      }
      const isMade = await this.#send(write).then(
        () => true,
        () => false,
      );
      if (isMade || !this.#isKept(write)) continue;
      this.#kept.delete(write.id);
      this.#kept.set(write.id, write);
      break;
    }
    this.#cancelTry = undefined;
    if (this.#kept.size > 0) this.#tryLater();
  }

  async #send(write: LateWrite): Promise<void> {
    await write.send();
    if (this.#isKept(write)) this.#kept.delete(write.id);
  }

  /** False if a later write with the same id has replaced it. */
  #isKept(write: LateWrite): boolean {
    return this.#kept.get(write.id) === write;
  }
}
