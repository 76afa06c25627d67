import { ProxyError } from "../model/errors.ts";
import type { BufferBudget, RequestBuffer } from "./buffer-budget.ts";
import type { CallerRequest } from "./messages.ts";

const retryAfterMs = 1_000;

/** Limits how many requests are served at a time; once the process drains, none is admitted. One per environment. */
export class ConcurrencyLimit {
  #limit: number;
  #inFlight = 0;
  #permits = 0;
  #isClosed = false;

  /** @param limit `limits.inFlightPerEnvironment` */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Requests that have begun and not ended, including those whose body is still being read. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Admits a request whose body may be incomplete. It has no permit yet: slow bodies must not use up the permits.
   * @throws ProxyError overloaded, draining
   */
  begin(): void {
    this.#check();
    this.#inFlight += 1;
  }

  /**
   * Takes a permit for a request that can be processed.
   * @throws ProxyError overloaded, draining
   */
  acquire(): void {
    this.#check();
    this.#permits += 1;
  }

  release(): void {
    this.#permits -= 1;
  }

  end(): void {
    this.#inFlight -= 1;
  }

  /** Requests keep the permits that they have, even beyond the new limit. */
  resize(limit: number): void {
    this.#limit = limit;
  }

  /** From now on no request is admitted. */
  close(): void {
    this.#isClosed = true;
  }

  #check(): void {
    if (this.#isClosed) {
      throw new ProxyError("draining", "Countersign is shutting down and takes no more requests.", { retryAfterMs });
    }
    if (this.#permits < this.#limit) return;
    const setting = "limits.inFlightPerEnvironment";
    const what = `As many requests are in flight as may be: ${this.#limit} (${setting}). Send it again in a second.`;
    throw new ProxyError("overloaded", what, { retryAfterMs, causedBy: setting });
  }
}

/** One request's use of the limits: it counts as in flight, uses memory, and takes a permit once it can be processed. */
export class Admission {
  /** Its part of `limits.bufferedBytes`, from `begin` on. */
  buffer: RequestBuffer | undefined;
  readonly #concurrency: ConcurrencyLimit;
  readonly #buffers: BufferBudget;
  #hasPermit = false;

  constructor(concurrency: ConcurrencyLimit, buffers: BufferBudget) {
    this.#concurrency = concurrency;
    this.#buffers = buffers;
  }

  /**
   * Admits the request. Its body may be incomplete.
   * @throws ProxyError overloaded, draining
   */
  begin({ peer, headBytes }: Pick<CallerRequest, "peer" | "headBytes">): RequestBuffer {
    this.#concurrency.begin();
    this.buffer = this.#buffers.open(peer);
    this.buffer.chargeHead(headBytes);
    return this.buffer;
  }

  /**
   * Permits are for requests that can be processed: an operation whose body is incomplete has none. Does nothing if it has one.
   * @throws ProxyError overloaded, draining
   */
  acquirePermit(): void {
    if (this.#hasPermit) return;
    this.#concurrency.acquire();
    this.#hasPermit = true;
  }

  /** It has to wait before it can be processed. */
  releasePermit(): void {
    if (this.#hasPermit) this.#concurrency.release();
    this.#hasPermit = false;
  }

  end(): void {
    if (this.buffer === undefined) return;
    this.buffer.close();
    this.releasePermit();
    this.#concurrency.end();
  }
}
