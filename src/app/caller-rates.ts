import type { Config } from "../config/config.ts";
import type { Caller } from "../model/caller.ts";
import type { Clock } from "../model/clock.ts";
import { type Callers, callersOf } from "../model/listener.ts";
import { CallerRegistry, RateLimit } from "../proxy/caller-registry.ts";
import { KeyedResources } from "./keyed-resources.ts";

/** How much each caller has called lately: one count for each name in an environment, which outlives a reload. */
export class CallerRates {
  readonly #clock: Clock;
  readonly #limits: KeyedResources<RateLimit>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#limits = new KeyedResources(clock);
  }

  /** The callers of a listener of this environment; undefined where they have no names. */
  registryOf(environment: string, callers: Callers | undefined): CallerRegistry | undefined {
    if (callers === undefined || callers.kind === "anyone" || callers.kind === "mtls") return undefined;
    return new CallerRegistry(
      callersOf(callers).map((caller) => ({ ...caller, rate: this.#rateOf(environment, caller) })),
    );
  }

  /** Counts by the rates of this configuration, which was prepared. */
  commit({ listeners }: Config): void {
    const wanted = listeners.flatMap(({ environment, callers }) =>
      callersOf(callers).flatMap(({ name, requestsPerSecond }) =>
        requestsPerSecond === undefined ? [] : [{ key: keyOf(environment, name), requestsPerSecond }],
      ),
    );
    this.#limits.commit(wanted.map(({ key }) => key));
    for (const { key, requestsPerSecond } of wanted) this.#limits.get(key)?.resize(requestsPerSecond);
  }

  #rateOf(environment: string, { name, requestsPerSecond }: Caller): RateLimit | undefined {
    if (requestsPerSecond === undefined) return undefined;
    return this.#limits.prepare(keyOf(environment, name), () => new RateLimit(requestsPerSecond, this.#clock));
  }
}

function keyOf(environment: string, name: string): string {
  return `${environment} ${name}`;
}
