import type { BufferBudget, RequestBuffer } from "./buffer-budget.ts";
import type { ConcurrencyLimit } from "./concurrency-limit.ts";
import type { Peer } from "./messages.ts";

/** What one request takes of the limits: a place among those being served, memory, and a permit once its body is complete. */
export class Admission {
  /** Its part of `limits.bufferedBytes`, from `begin` on. */
  buffer: RequestBuffer | undefined;
  readonly #concurrency: ConcurrencyLimit;
  readonly #buffers: BufferBudget;
  #hasBegun = false;
  #hasPermit = false;

  constructor(concurrency: ConcurrencyLimit, buffers: BufferBudget) {
    this.#concurrency = concurrency;
    this.#buffers = buffers;
  }

  /**
   * Lets the request in. Its body may still be on its way.
   * @throws ProxyError overloaded, draining
   */
  begin(peer: Peer | undefined): RequestBuffer {
    this.#concurrency.begin();
    this.#hasBegun = true;
    this.buffer = this.#buffers.open(peer);
    return this.buffer;
  }

  /**
   * Permits are for requests that can go on: one whose body is slow has none.
   * @throws ProxyError overloaded, draining
   */
  acquirePermit(): void {
    this.#concurrency.acquire();
    this.#hasPermit = true;
  }

  /** Gives back all that was taken. */
  end(): void {
    this.buffer?.close();
    if (this.#hasPermit) this.#concurrency.release();
    if (this.#hasBegun) this.#concurrency.end();
  }
}
