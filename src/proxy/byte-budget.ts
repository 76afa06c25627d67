import { ProxyError } from "../model/errors.ts";

const retryAfterMs = 1_000;

/** The memory that bodies and answers under way may take together, in bytes as they are charged. One per process. */
export class ByteBudget {
  #limitBytes: number;
  #usedBytes = 0;

  /** @param limitBytes `limits.bufferedBytes`, or what the machine allows */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get limitBytes(): number {
    return this.#limitBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** What is taken stays taken, be it more than the new limit. */
  resize(limitBytes: number): void {
    this.#limitBytes = limitBytes;
  }

  hasRoomFor(bytes: number): boolean {
    return this.#usedBytes + bytes <= this.#limitBytes;
  }

  /**
   * Takes bytes if there is room for them.
   * @throws ProxyError overloaded; body_too_large where even an idle process has no room
   */
  take(bytes: number): void {
    if (bytes > this.#limitBytes) throw this.neverFits();
    if (!this.hasRoomFor(bytes)) throw this.isFull();
    this.#usedBytes += bytes;
  }

  /** For what is there already: takes bytes beyond the limit too, so that new requests are refused until it is gone. */
  overdraw(bytes: number): void {
    this.#usedBytes += bytes;
  }

  give(bytes: number): void {
    this.#usedBytes -= bytes;
  }

  isFull(): ProxyError {
    const limit = `${this.#limitBytes} bytes, which is the limit (limits.bufferedBytes)`;
    return new ProxyError("overloaded", `Bodies and answers under way take up ${limit}.`, { retryAfterMs });
  }

  neverFits(): ProxyError {
    const limit = `${this.#limitBytes} bytes (limits.bufferedBytes)`;
    return new ProxyError("body_too_large", `Serving this body takes more memory than the ${limit} there are for all.`);
  }
}
