import { ProxyError } from "../errors.ts";

const retryAfterMs = 1_000;

/** Who may come in: a bounded number at once, and nobody any more once the process is closing. One per environment. */
export class Admission {
  #limit: number;
  #inFlight = 0;
  #isClosed = false;

  /** @param limit `limits.inFlightPerEnvironment` */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** @throws ProxyError overloaded, draining */
  admit(): void {
    if (this.#isClosed) {
      throw new ProxyError("draining", "Countersign is shutting down and takes no more requests.", { retryAfterMs });
    }
    if (this.#inFlight >= this.#limit) {
      throw new ProxyError(
        "overloaded",
        `${this.#limit} requests are in flight, which is the limit (limits.inFlightPerEnvironment).`,
        { retryAfterMs, causedBy: "limits.inFlightPerEnvironment" },
      );
    }
    this.#inFlight += 1;
  }

  /** Those who are in stay, be they more than the new limit. */
  resize(limit: number): void {
    this.#limit = limit;
  }

  leave(): void {
    this.#inFlight -= 1;
  }

  /** From now on nobody comes in. */
  close(): void {
    this.#isClosed = true;
  }
}
