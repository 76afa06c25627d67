import { ProxyError } from "../model/errors.ts";

const retryAfterMs = 1_000;

/** Which requests are served: a bounded number at once, and none any more once the process is closing. One per environment. */
export class ConcurrencyLimit {
  #limit: number;
  #inFlight = 0;
  #permits = 0;
  #isClosed = false;

  /** @param limit `limits.inFlightPerEnvironment` */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Requests that were admitted and are not answered, those whose body is under way among them. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Lets a request in whose body may still be under way. It takes no place yet: a slow body must not keep others from one.
   * @throws ProxyError overloaded, draining
   */
  begin(): void {
    this.#check();
    this.#inFlight += 1;
  }

  /**
   * The body is there, so the request takes a place.
   * @throws ProxyError overloaded, draining
   */
  acquire(): void {
    this.#check();
    this.#permits += 1;
  }

  /** Requests that have a place keep it, be they more than the new limit. */
  resize(limit: number): void {
    this.#limit = limit;
  }

  release(): void {
    this.#permits -= 1;
  }

  end(): void {
    this.#inFlight -= 1;
  }

  /** From now on no request is admitted. */
  close(): void {
    this.#isClosed = true;
  }

  #check(): void {
    if (this.#isClosed) {
      throw new ProxyError("draining", "Countersign is shutting down and takes no more requests.", { retryAfterMs });
    }
    if (this.#permits >= this.#limit) {
      throw new ProxyError(
        "overloaded",
        `${this.#limit} requests are in flight, which is the limit (limits.inFlightPerEnvironment).`,
        { retryAfterMs, causedBy: "limits.inFlightPerEnvironment" },
      );
    }
  }
}
