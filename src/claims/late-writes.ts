import type { Cancel, Clock } from "../model/clock.ts";

/** A write that has the same effect when it is made later. */
export interface LateWrite {
  /** What is written to. */
  readonly name: string;
  /** The last write with an id replaces earlier ones. */
  readonly id: string;
  /** Not worth a try from then on; on the monotonic clock. */
  readonly untilMs: number;
  readonly send: () => Promise<void>;
}

const tryEveryMs = 1_000;
/** A few hundred bytes each. */
const mostKept = 4_096;

/** Makes writes. What failed, for whatever reason, is kept in memory and tried again each second until its time is over. */
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
   * @param later what is kept where it fails: it may be shorter
   * @throws what the write failed with, also where it is kept
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

  /** Makes it within a second or so. A full store keeps what it has. */
  keep(write: LateWrite): void {
    if (this.#isClosed || (this.#kept.size >= mostKept && !this.#kept.has(write.id))) return;
    this.#kept.set(write.id, write);
    this.#tryLater();
  }

  /**
   * Makes what is kept of one name.
   * @throws what the first failed with; it and the rest stay
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

  /** One after the other, up to the first that fails. That one goes behind the others, so that it holds none of them back. */
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

  /** False where a later write with the same id has replaced it. */
  #isKept(write: LateWrite): boolean {
    return this.#kept.get(write.id) === write;
  }
}
