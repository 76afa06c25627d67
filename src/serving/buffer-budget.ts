import type { Clock } from "../model/clock.ts";
import { ProxyError } from "../model/errors.ts";
import { callerHost } from "../model/listener.ts";
import type { BodyBuffer, Peer } from "./messages.ts";

/** Bodies that are not complete get this share of the budget, so that complete bodies always have room to be served. */
const incompleteShare = 1 / 4;
/** A body uses that share only beyond this length, so that large slow bodies do not block small ones. */
const smallBytes = 32_768;
/** An incomplete body that is older than this is evicted if another request has no room. */
const graceMs = 250;
/** An answer is evicted too, if its caller has read nothing of it for this time. */
const stalledMs = 1_000;
const retryAfterMs = 1_000;

/** The memory of a request besides its body: objects, two sockets, and an answer that its caller reads without delay. */
const perRequestBytes = 32_768;
/** Decoded text has two bytes for each byte of the body at most; the rendered body and its copy in a socket one each. */
const perBodyByte = 4;
/** A name, a value and their entry in a map. */
const perParameterBytes = 128;
/** An answer to be kept for Countersign-Once: as received, sealed, as text, and on its way to the store. */
const perKeptByte = 6;
/** The part of an answer that both sockets and the streams between them buffer if the caller reads slowly. */
const perSlowReaderBytes = 393_216;

/**
 * The memory that heads, bodies and answers may use together, in charged bytes. One per process. Incomplete bodies may use a
 * share of it. If a request finds no room, a slow one is evicted: the oldest of the caller that uses most. Incomplete heads
 * and bodies are evicted first, since nothing of them is sent yet; then answers that their callers do not read.
 */
export class BufferBudget {
  readonly #clock: Clock;
  /** Requests whose body is incomplete, oldest first. */
  readonly #incomplete = new Set<RequestBuffer>();
  /** Requests whose callers do not read the answer, in the order in which they stopped reading. */
  readonly #stalled = new Set<RequestBuffer>();
  #limitBytes: number;
  #usedBytes = 0;
  /** The bytes that incomplete bodies use of their share. */
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

  /** For a request whose body is read next, or for the bytes that a connection holds of requests that have not begun. */
  open(peer: Peer | undefined): RequestBuffer {
    const buffer = new RequestBuffer(this, peer, this.#clock.nowMs());
    this.#incomplete.add(buffer);
    return buffer;
  }

  /**
   * Raises the reservation of an incomplete body to this total.
   * @throws ProxyError overloaded; body_too_large if even an idle process has no room
   */
  extend(body: RequestBuffer, totalBytes: number): void {
    if (!this.#incomplete.has(body)) throw this.#isFull();
    const mostSharedBytes = this.#limitBytes * incompleteShare;
    const moreSharedBytes = inShare(totalBytes) - inShare(body.bytes);
    if (inShare(totalBytes) > mostSharedBytes) throw this.#neverFits();
    while (moreSharedBytes > 0 && this.#sharedBytes + moreSharedBytes > mostSharedBytes) {
      if (!this.#evictIncomplete(body, smallBytes)) throw this.#isFull();
    }
    this.take(body, totalBytes - body.bytes);
    this.#sharedBytes += moreSharedBytes;
  }

  /**
   * Frees the bytes of a body that is complete or has failed.
   * @returns false if they were freed before
   */
  end(body: RequestBuffer): boolean {
    if (!this.#incomplete.delete(body)) return false;
    this.#sharedBytes -= inShare(body.bytes);
    this.give(body, body.bytes);
    return true;
  }

  /**
   * Charges bytes; slow requests are evicted until there is room for these bytes.
   * @throws ProxyError overloaded; body_too_large if even an idle process has no room
   */
  take(body: RequestBuffer, bytes: number): void {
    if (bytes > this.#limitBytes) throw this.#neverFits();
    while (this.#usedBytes + bytes > this.#limitBytes) this.#evictSlow(body);
    this.charge(body, bytes);
  }

  /**
   * Charges bytes for an answer, if there is room. Only incomplete bodies are evicted, since nothing of them is sent yet.
   * @returns false if there is no room
   */
  takeForAnswer(body: RequestBuffer, bytes: number): boolean {
    while (this.#usedBytes + bytes > this.#limitBytes) if (!this.#evictIncomplete(body)) return false;
    this.charge(body, bytes);
    return true;
  }

  /** From now on the caller does not read the answer. */
  stall(body: RequestBuffer): void {
    body.sinceMs = this.#clock.nowMs();
    this.#stalled.add(body);
  }

  unstall(body: RequestBuffer): void {
    this.#stalled.delete(body);
  }

  /** Charges bytes that exist already, even beyond the limit. Then new requests are refused until enough bytes are freed. */
  charge(body: RequestBuffer, bytes: number): void {
    body.bytes += bytes;
    this.#usedBytes += bytes;
  }

  give(body: RequestBuffer, bytes: number): void {
    this.charge(body, -bytes);
  }

  /** @param newcomer the request that needs room; never evicted itself */
  #evictSlow(newcomer: RequestBuffer): void {
    if (this.#evictIncomplete(newcomer)) return;
    const stalled = this.#findSlow(this.#stalled, stalledMs, newcomer);
    if (stalled === undefined) throw this.#isFull();
    this.unstall(stalled);
    this.give(stalled, stalled.bytes);
    const what = "The caller did not take the answer, and others needed its memory (limits.bufferedBytes).";
    stalled.onEvicted(new ProxyError("upstream_timeout", what, { causedBy: "slow caller" }));
  }

  /**
   * @param beyondBytes only bodies with more bytes are evicted: the others would give no room
   * @returns false if there is none
   */
  #evictIncomplete(newcomer: RequestBuffer, beyondBytes = 0): boolean {
    const slow = this.#findSlow(this.#incomplete, graceMs, newcomer, beyondBytes);
    if (slow === undefined) return false;
    this.end(slow);
    const what = "The request was still under way when others needed its memory (limits.bufferedBytes)";
    slow.onEvicted(new ProxyError("overloaded", `${what}; send it in one go.`, { retryAfterMs }));
    return true;
  }

  #findSlow(
    among: ReadonlySet<RequestBuffer>,
    forMs: number,
    newcomer: RequestBuffer,
    beyondBytes = 0,
  ): RequestBuffer | undefined {
    const bytesOf = new Map<string, number>();
    for (const { caller, bytes } of among) bytesOf.set(caller, (bytesOf.get(caller) ?? 0) + bytes);
    const beforeMs = this.#clock.nowMs() - forMs;
    let found: RequestBuffer | undefined;
    let mostBytes = 0;
    for (const body of among) {
      const callerBytes = bytesOf.get(body.caller) ?? 0;
      if (body === newcomer || body.bytes <= beyondBytes || body.sinceMs > beforeMs || callerBytes <= mostBytes)
        continue;
      found = body;
      mostBytes = callerBytes;
    }
    return found;
  }

  #isFull(): ProxyError {
    const limit = `${this.#limitBytes} bytes, which is the limit (limits.bufferedBytes)`;
    return new ProxyError("overloaded", `Bodies and answers under way take up ${limit}. Send it again in a second.`, {
      retryAfterMs,
    });
  }

  #neverFits(): ProxyError {
    const limit = `${this.#limitBytes} bytes (limits.bufferedBytes)`;
    return new ProxyError(
      "body_too_large",
      `Serving this body takes more memory than all requests may use: ${limit}. Send less.`,
    );
  }
}

function inShare(bytes: number): number {
  return Math.max(0, bytes - smallBytes);
}

/** The memory of one request, as it is charged to the budget. The factors were measured with Node 20 and 24. */
export class RequestBuffer implements BodyBuffer {
  /** The host of its caller. */
  readonly caller: string;
  /** The charged bytes; only the budget changes them. */
  bytes = 0;
  /** When the body began, or when the caller stopped reading; on the monotonic clock. */
  sinceMs: number;
  onEvicted: (error: ProxyError) => void = () => {};
  readonly #budget: BufferBudget;
  #headBytes = 0;
  #answerHeadBytes = 0;
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
   * The body is complete and is parsed next: charges the most parameters that it can hold.
   * @throws ProxyError overloaded, body_too_large
   */
  chargeBody(bodyBytes: number, mostParameters: number): void {
    this.#budget.end(this);
    this.#budget.take(this, this.#headBytes + costOf(bodyBytes, mostParameters));
  }

  /** The body is parsed: charges the parameters that it does hold. */
  chargeParameters(bodyBytes: number, parameters: number): void {
    this.#budget.give(this, this.bytes - this.#headBytes - costOf(bodyBytes, parameters));
  }

  /**
   * Charges a part of an answer that is read before it is passed on.
   * @returns false if there is no room
   */
  takeForAnswer(bytes: number): boolean {
    return this.#budget.takeForAnswer(this, bytes);
  }

  /** Charges the head of an answer, as far as it has come; of two answers the larger one. */
  chargeAnswerHead(heldBytes: number): void {
    if (this.#isClosed || heldBytes <= this.#answerHeadBytes) return;
    this.#budget.charge(this, heldBytes - this.#answerHeadBytes);
    this.#answerHeadBytes = heldBytes;
  }

  /** Charges an answer that was read whole, to be kept. */
  chargeAnswer(bytes: number): void {
    if (!this.#isClosed) this.#budget.charge(this, perKeptByte * bytes);
  }

  /**
   * The caller reads its answer more slowly than it comes.
   * @param cutOff called if the caller still reads nothing and other requests need the memory
   * @returns to be called when the caller has read everything that was written
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
