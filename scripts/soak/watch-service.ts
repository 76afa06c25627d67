import type { ApiRequest } from "../../simulator/src/service/request-log.ts";
import type { Simulator } from "../../simulator/src/service/simulator.ts";
import type { Sighting } from "./order.ts";

const lookEveryMs = 200;

/** Tells of each request that arrived at the service, in the order of arrival. */
export class ServiceWatch {
  readonly #simulator: Simulator;
  readonly #onSeen: (number: number, sighting: Sighting) => void;
  readonly #timer: NodeJS.Timeout;
  #last = 0;

  constructor(simulator: Simulator, onSeen: (number: number, sighting: Sighting) => void) {
    this.#simulator = simulator;
    this.#onSeen = onSeen;
    this.#timer = setInterval(() => this.look(), lookEveryMs);
  }

  /** @throws Error when the service has forgotten requests that were not looked at */
  look(): void {
    const fresh = this.#simulator.seen.apiRequests.filter(({ number }) => number > this.#last);
    const [first] = fresh;
    if (first !== undefined && first.number !== this.#last + 1) throw new Error("the service has forgotten requests");
    for (const request of fresh) {
      this.#last = request.number;
      this.#onSeen(numberOf(request), sightingOf(request));
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

function numberOf({ body }: ApiRequest): number {
  return Number(/"order_reference":"soak-(\d+)"/.exec(body.toString("latin1"))?.[1]);
}

function sightingOf({ refusal, orderId }: ApiRequest): Sighting {
  if (refusal !== undefined) return refusal.status === 401 ? "unauthorized" : "refused";
  return orderId === undefined ? "replaced" : "accepted";
}
