import type { Clock } from "../model/clock.ts";
import { ProxyError } from "../model/errors.ts";
import type { ByteBudget } from "./byte-budget.ts";

/** Bodies that are not complete get this share of the budget, so that complete ones always have room to go on. */
const share = 1 / 4;
/** Nor does a body need a part of that share up to here, so that large slow bodies keep no small one away. */
const smallBytes = 32_768;
/** A body that is under way for longer gives way when there is no room for another. */
const graceMs = 250;
const retryAfterMs = 1_000;

/**
 * The request bodies that are being read. They have a share of the byte budget and take no place in flight. Where the
 * share is used up, slow bodies give way to new ones: the oldest of the caller that holds the most.
 */
export class BodiesUnderWay {
  readonly #budget: ByteBudget;
  readonly #clock: Clock;
  /** In the order in which they began. */
  readonly #bodies = new Set<BodyUnderWay>();
  /** Of the share. */
  #sharedBytes = 0;

  constructor(budget: ByteBudget, clock: Clock) {
    this.#budget = budget;
    this.#clock = clock;
  }

  get count(): number {
    return this.#bodies.size;
  }

  /** @param caller callers that cannot be told apart have one name */
  begin(caller: string): BodyUnderWay {
    const body = new BodyUnderWay(caller, this.#clock.nowMs(), this);
    this.#bodies.add(body);
    return body;
  }

  /**
   * Makes room for a body of so many bytes.
   * @throws ProxyError overloaded, body_too_large
   */
  reserve(body: BodyUnderWay, totalBytes: number): void {
    if (!this.#bodies.has(body)) throw this.#budget.isFull();
    const mostSharedBytes = this.#budget.limitBytes * share;
    const moreSharedBytes = inShare(totalBytes) - inShare(body.bytes);
    if (inShare(totalBytes) > mostSharedBytes) throw this.#budget.neverFits();
    while (moreSharedBytes > 0 && this.#sharedBytes + moreSharedBytes > mostSharedBytes) this.#replaceSlow(body);
    this.makeRoom(totalBytes - body.bytes, body);
    this.#budget.take(totalBytes - body.bytes);
    this.#sharedBytes += moreSharedBytes;
  }

  /**
   * Slow bodies give way until the budget has room.
   * @param newcomer gives no way to itself
   * @throws ProxyError overloaded
   */
  makeRoom(bytes: number, newcomer?: BodyUnderWay): void {
    while (bytes <= this.#budget.limitBytes && !this.#budget.hasRoomFor(bytes)) this.#replaceSlow(newcomer);
  }

  end(body: BodyUnderWay): void {
    if (!this.#bodies.delete(body)) return;
    this.#budget.give(body.bytes);
    this.#sharedBytes -= inShare(body.bytes);
  }

  #replaceSlow(newcomer: BodyUnderWay | undefined): void {
    const slow = this.#findSlow(newcomer);
    if (slow === undefined) throw this.#budget.isFull();
    slow.giveWay();
  }

  #findSlow(newcomer: BodyUnderWay | undefined): BodyUnderWay | undefined {
    const beforeMs = this.#clock.nowMs() - graceMs;
    const slow = [...this.#bodies].filter((body) => body !== newcomer && body.bytes > 0 && body.sinceMs <= beforeMs);
    const bytesOf = new Map<string, number>();
    for (const { caller, bytes } of this.#bodies) bytesOf.set(caller, (bytesOf.get(caller) ?? 0) + bytes);
    const weigh = ({ caller }: BodyUnderWay) => bytesOf.get(caller) ?? 0;
    return slow.reduce<BodyUnderWay | undefined>(
      (worst, body) => (worst === undefined || weigh(body) > weigh(worst) ? body : worst),
      undefined,
    );
  }
}

function inShare(bytes: number): number {
  return Math.max(0, bytes - smallBytes);
}

/** What one body that is being read has reserved. */
export class BodyUnderWay {
  readonly caller: string;
  readonly sinceMs: number;
  /** Rejects with ProxyError overloaded when the body has to give way. */
  readonly gaveWay: Promise<never>;
  readonly #all: BodiesUnderWay;
  #bytes = 0;
  #reject: (error: ProxyError) => void = () => {};

  constructor(caller: string, sinceMs: number, all: BodiesUnderWay) {
    this.caller = caller;
    this.sinceMs = sinceMs;
    this.#all = all;
    this.gaveWay = new Promise((_, reject) => {
      this.#reject = reject;
    });
    this.gaveWay.catch(() => {});
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Makes room for so many bytes in all: the declared length before reading, or what has come of a chunked body.
   * @throws ProxyError overloaded; body_too_large where it would never fit
   */
  reserve(totalBytes: number): void {
    if (totalBytes <= this.#bytes) return;
    this.#all.reserve(this, totalBytes);
    this.#bytes = totalBytes;
  }

  /** It is complete, or it failed. */
  end(): void {
    this.#all.end(this);
  }

  giveWay(): void {
    this.end();
    const what = "The body was still under way when others needed its memory (limits.bufferedBytes)";
    this.#reject(new ProxyError("overloaded", `${what}; send it in one go.`, { retryAfterMs }));
  }
}
