import type { Config } from "../config/config.ts";
import type { Clock } from "../model/clock.ts";
import { ConcurrencyLimit } from "../proxy/concurrency-limit.ts";
import { KeyedResources } from "./keyed-resources.ts";

/** A limit for each environment. It outlives a reload, and `limits.inFlightPerEnvironment` resizes it. */
export class ConcurrencyLimits {
  readonly #limits: KeyedResources<ConcurrencyLimit>;

  constructor(clock: Clock) {
    this.#limits = new KeyedResources(clock);
  }

  of(environment: string, { limits, timeouts }: Config): ConcurrencyLimit {
    const create = () => new ConcurrencyLimit(limits.inFlightPerEnvironment);
    return this.#limits.prepare(environment, create, timeouts.requestMs);
  }

  /** Requests that are being served, by environment. */
  inFlight(): ReadonlyMap<string, number> {
    return new Map(this.#limits.entries().map(([environment, { inFlight }]) => [environment, inFlight]));
  }

  commit(environments: Iterable<string>, { limits }: Config): void {
    this.#limits.commit(environments);
    for (const limit of this.#limits.values()) limit.resize(limits.inFlightPerEnvironment);
  }

  /** From now on no request is let in. */
  close(): void {
    for (const limit of this.#limits.values()) limit.close();
  }
}
