import type { Clock } from "../model/clock.ts";
import { ProxyError } from "../model/errors.ts";

/** A request body that is not complete, as the budget sees it. */
export interface IncompleteBody {
  /** Where it comes from; clients that cannot be told apart have one name. */
  readonly client: string;
  /** On the monotonic clock. */
  readonly sinceMs: number;
  /** What is reserved for it. */
  readonly bytes: number;
  /** It loses what is reserved for it. */
  evict(error: ProxyError): void;
}

/** Bodies that are not complete get this share of the budget, so that complete ones always have room to go on. */
const incompleteShare = 1 / 4;
/** A body needs no part of that share up to this length, so that large slow bodies keep no small one away. */
const smallBytes = 32_768;
/** A body that takes longer is evicted when there is no room for another. */
const graceMs = 250;
const retryAfterMs = 1_000;

/**
 * The memory that bodies and responses may take together, in bytes as they are charged. One per process. Bodies that are
 * being read have a share of it. Where that is used up, slow bodies are evicted in favour of new ones: the oldest of the
 * client that has the most.
 */
export class BufferBudget {
  readonly #clock: Clock;
  /** In the order in which they began. */
  readonly #incomplete = new Set<IncompleteBody>();
  #limitBytes: number;
  #usedBytes = 0;
  /** Used by incomplete bodies, of their share. */
  #sharedBytes = 0;

  /** @param limitBytes `limits.bufferedBytes`, or what the machine allows */
  constructor(limitBytes: number, clock: Clock) {
    this.#limitBytes = limitBytes;
    this.#clock = clock;
  }

  get limitBytes(): number {
    return this.#limitBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** What is used stays so, even beyond the new limit. */
  resize(limitBytes: number): void {
    this.#limitBytes = limitBytes;
  }

  /** A body is about to be read; nothing is reserved for it yet. */
  begin(body: IncompleteBody): void {
    this.#incomplete.add(body);
  }

  /**
   * Reserves so many bytes in all for an incomplete body, which then has them.
   * @throws ProxyError overloaded; body_too_large where even an idle process has no room
   */
  extend(body: IncompleteBody, totalBytes: number): void {
    if (!this.#incomplete.has(body)) throw this.#isFull();
    const mostSharedBytes = this.#limitBytes * incompleteShare;
    const moreSharedBytes = inShare(totalBytes) - inShare(body.bytes);
    if (inShare(totalBytes) > mostSharedBytes) throw this.#neverFits();
    while (moreSharedBytes > 0 && this.#sharedBytes + moreSharedBytes > mostSharedBytes) this.#evictSlow(body);
    this.take(totalBytes - body.bytes, body);
    this.#sharedBytes += moreSharedBytes;
  }

  /**
   * The body is complete, or it failed: what was reserved for it is free.
   * @returns false where it has ended before
   */
  end(body: IncompleteBody): boolean {
    if (!this.#incomplete.delete(body)) return false;
    this.give(body.bytes);
    this.#sharedBytes -= inShare(body.bytes);
    return true;
  }

  /**
   * Takes bytes; slow bodies are evicted until there is room for them.
   * @param newcomer the incomplete body that they are for, which is not evicted for itself
   * @throws ProxyError overloaded; body_too_large where even an idle process has no room
   */
  take(bytes: number, newcomer?: IncompleteBody): void {
    if (bytes > this.#limitBytes) throw this.#neverFits();
    while (this.#usedBytes + bytes > this.#limitBytes) this.#evictSlow(newcomer);
    this.#usedBytes += bytes;
  }

  /** For what exists already: takes bytes beyond the limit too, so that new requests are refused until it is gone. */
  overdraw(bytes: number): void {
    this.#usedBytes += bytes;
  }

  give(bytes: number): void {
    this.#usedBytes -= bytes;
  }

  #evictSlow(newcomer: IncompleteBody | undefined): void {
    const slow = this.#findSlow(newcomer);
    if (slow === undefined) throw this.#isFull();
    this.end(slow);
    const what = "The body was still under way when others needed its memory (limits.bufferedBytes)";
    slow.evict(new ProxyError("overloaded", `${what}; send it in one go.`, { retryAfterMs }));
  }

  #findSlow(newcomer: IncompleteBody | undefined): IncompleteBody | undefined {
    const bytesOf = new Map<string, number>();
    for (const { client, bytes } of this.#incomplete) bytesOf.set(client, (bytesOf.get(client) ?? 0) + bytes);
    const beforeMs = this.#clock.nowMs() - graceMs;
    let found: IncompleteBody | undefined;
    let mostBytes = 0;
    for (const body of this.#incomplete) {
      const clientBytes = bytesOf.get(body.client) ?? 0;
      if (body === newcomer || body.bytes === 0 || body.sinceMs > beforeMs || clientBytes <= mostBytes) continue;
      found = body;
      mostBytes = clientBytes;
    }
    return found;
  }

  #isFull(): ProxyError {
    const limit = `${this.#limitBytes} bytes, which is the limit (limits.bufferedBytes)`;
    return new ProxyError("overloaded", `Bodies and answers under way take up ${limit}.`, { retryAfterMs });
  }

  #neverFits(): ProxyError {
    const limit = `${this.#limitBytes} bytes (limits.bufferedBytes)`;
    return new ProxyError("body_too_large", `Serving this body takes more memory than the ${limit} there are for all.`);
  }
}

function inShare(bytes: number): number {
  return Math.max(0, bytes - smallBytes);
}
