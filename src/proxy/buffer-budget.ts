import type { Clock } from "../model/clock.ts";
import { ProxyError } from "../model/errors.ts";
import { callerHost } from "../model/listener.ts";
import type { BodyBuffer, Peer } from "./messages.ts";

/** Bodies that are not complete get this share of the budget, so that complete ones always have room to go on. */
const incompleteShare = 1 / 4;
/** A body needs no part of that share up to this length, so that large slow bodies do not shut out small ones. */
const smallBytes = 32_768;
/** A body that takes longer is evicted when there is no room for another. */
const graceMs = 250;
/** An answer is evicted too, when its caller has read nothing of it for this time. */
const stalledMs = 1_000;
const retryAfterMs = 1_000;

/** What a request costs beside its body: its objects, two sockets, and an answer that is read as it comes. */
const perRequestBytes = 32_768;
/** Decoded text has two bytes for each byte of the body at most; the rendered body and its copy in a socket one each. */
const perBodyByte = 4;
/** A name, a value and their entry in a map. */
const perParameterBytes = 128;
/** An answer that is kept, as it came, sealed, as text, and on its way to the store. */
const perKeptByte = 6;
/** What both sockets and the streams between them buffer of an answer that the caller reads slowly. */
const perSlowReaderBytes = 393_216;

/**
 * The memory that heads, bodies and answers may take together, in bytes as they are charged. One per process. What is not
 * complete yet has a share of it. Where there is no room, a slow one is evicted for a new one: the oldest of the caller
 * that has the most. Heads and bodies go first, since they are not sent yet; then answers that are not read.
 */
export class BufferBudget {
  readonly #clock: Clock;
  /** In the order in which they began. */
  readonly #incomplete = new Set<RequestBuffer>();
  /** Those whose callers do not read their answers, in the order in which they last read. */
  readonly #stalled = new Set<RequestBuffer>();
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

  /** Memory in use stays in use, even beyond the new limit. */
  resize(limitBytes: number): void {
    this.#limitBytes = limitBytes;
  }

  /** For a request whose body is about to be read, or for what a connection keeps of requests that have not begun. */
  open(peer: Peer | undefined): RequestBuffer {
    const buffer = new RequestBuffer(this, peer, this.#clock.nowMs());
    this.#incomplete.add(buffer);
    return buffer;
  }

  /**
   * Reserves so many bytes in all for an incomplete body, which then has them.
   * @throws ProxyError overloaded; body_too_large where even an idle process has no room
   */
  extend(body: RequestBuffer, totalBytes: number): void {
    if (!this.#incomplete.has(body)) throw this.#isFull();
    const mostSharedBytes = this.#limitBytes * incompleteShare;
    const moreSharedBytes = inShare(totalBytes) - inShare(body.bytes);
    if (inShare(totalBytes) > mostSharedBytes) throw this.#neverFits();
    while (moreSharedBytes > 0 && this.#sharedBytes + moreSharedBytes > mostSharedBytes) this.#evictSlow(body);
    this.take(body, totalBytes - body.bytes);
    this.#sharedBytes += moreSharedBytes;
  }

  /**
   * Frees what was reserved for a body that is complete or has failed.
   * @returns false where that was done before
   */
  end(body: RequestBuffer): boolean {
    if (!this.#incomplete.delete(body)) return false;
    this.#sharedBytes -= inShare(body.bytes);
    this.give(body, body.bytes);
    return true;
  }

  /**
   * Takes bytes; slow bodies are evicted until there is room for them.
   * @throws ProxyError overloaded; body_too_large where even an idle process has no room
   */
  take(body: RequestBuffer, bytes: number): void {
    if (bytes > this.#limitBytes) throw this.#neverFits();
    while (this.#usedBytes + bytes > this.#limitBytes) this.#evictSlow(body);
    this.charge(body, bytes);
  }

  /** From now on its caller does not read its answer. */
  stall(body: RequestBuffer): void {
    body.sinceMs = this.#clock.nowMs();
    this.#stalled.add(body);
  }

  unstall(body: RequestBuffer): void {
    this.#stalled.delete(body);
  }

  /** For bytes that exist already, even beyond the limit. New requests are refused until those bytes are given back. */
  charge(body: RequestBuffer, bytes: number): void {
    body.bytes += bytes;
    this.#usedBytes += bytes;
  }

  give(body: RequestBuffer, bytes: number): void {
    this.charge(body, -bytes);
  }

  /** @param newcomer is not evicted for itself */
  #evictSlow(newcomer: RequestBuffer): void {
    const slow = this.#findSlow(this.#incomplete, graceMs, newcomer);
    if (slow !== undefined) {
      this.end(slow);
      const what = "The request was still under way when others needed its memory (limits.bufferedBytes)";
      slow.onEvicted(new ProxyError("overloaded", `${what}; send it in one go.`, { retryAfterMs }));
      return;
    }
    const stalled = this.#findSlow(this.#stalled, stalledMs, newcomer);
    if (stalled === undefined) throw this.#isFull();
    this.unstall(stalled);
    this.give(stalled, stalled.bytes);
    const what = "The caller did not take the answer, and others needed its memory (limits.bufferedBytes).";
    stalled.onEvicted(new ProxyError("upstream_timeout", what, { causedBy: "slow caller" }));
  }

  #findSlow(among: ReadonlySet<RequestBuffer>, forMs: number, newcomer: RequestBuffer): RequestBuffer | undefined {
    const bytesOf = new Map<string, number>();
    for (const { caller, bytes } of among) bytesOf.set(caller, (bytesOf.get(caller) ?? 0) + bytes);
    const beforeMs = this.#clock.nowMs() - forMs;
    let found: RequestBuffer | undefined;
    let mostBytes = 0;
    for (const body of among) {
      const callerBytes = bytesOf.get(body.caller) ?? 0;
      if (body === newcomer || body.bytes === 0 || body.sinceMs > beforeMs || callerBytes <= mostBytes) continue;
      found = body;
      mostBytes = callerBytes;
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

/** The memory of one request, as it is charged to the budget. The factors were measured with Node 20 and 24. */
export class RequestBuffer implements BodyBuffer {
  /** The host of its caller. */
  readonly caller: string;
  /** What is charged; the budget keeps it. */
  bytes = 0;
  /** Since when it is slow, on the monotonic clock. */
  sinceMs: number;
  onEvicted: (error: ProxyError) => void = () => {};
  readonly #budget: BufferBudget;
  #headBytes = 0;
  #hasSlowReader = false;
  #isClosed = false;

  constructor(budget: BufferBudget, peer: Peer | undefined, sinceMs: number) {
    this.#budget = budget;
    this.caller = callerHost(peer?.address);
    this.sinceMs = sinceMs;
  }

  /**
   * Charges the head until the request ends.
   * @throws ProxyError overloaded
   */
  chargeHead(headBytes: number): void {
    this.reserve(headBytes);
    this.#headBytes = headBytes;
  }

  reserve(bodyBytes: number): void {
    const totalBytes = this.#headBytes + bodyBytes;
    if (totalBytes > this.bytes) this.#budget.extend(this, totalBytes);
  }

  /**
   * The body is complete, and about to be parsed: charged by the most that it can hold.
   * @throws ProxyError overloaded, body_too_large
   */
  chargeBody(bodyBytes: number, mostParameters: number): void {
    this.#budget.end(this);
    this.#budget.take(this, this.#headBytes + costOf(bodyBytes, mostParameters));
  }

  /** The body is parsed: charged by what it does hold. */
  chargeParameters(bodyBytes: number, parameters: number): void {
    this.#budget.give(this, this.bytes - this.#headBytes - costOf(bodyBytes, parameters));
  }

  /** An answer is read whole, to be kept. */
  chargeAnswer(bytes: number): void {
    if (!this.#isClosed) this.#budget.charge(this, perKeptByte * bytes);
  }

  /**
   * The caller does not read its answer as it comes.
   * @param cutOff called when it still has not, and others need its memory
   * @returns called when it has taken what was written
   */
  awaitReader(cutOff: (error: ProxyError) => void): () => void {
    if (this.#isClosed) return () => {};
    if (!this.#hasSlowReader) {
      this.#hasSlowReader = true;
      this.#budget.charge(this, perSlowReaderBytes);
    }
    this.onEvicted = cutOff;
    this.#budget.stall(this);
    return () => this.#budget.unstall(this);
  }

  close(): void {
    this.#isClosed = true;
    this.#budget.unstall(this);
    if (!this.#budget.end(this)) this.#budget.give(this, this.bytes);
  }
}

function costOf(bodyBytes: number, parameters: number): number {
  return perRequestBytes + perBodyByte * bodyBytes + perParameterBytes * parameters;
}
