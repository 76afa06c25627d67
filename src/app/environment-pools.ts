import type { Pool } from "../adapters/http-client/pools.ts";
import type { Config } from "../config/config.ts";
import type { Clock } from "../model/clock.ts";
import type { Address, Environment } from "../model/environment.ts";
import { fetchDeadlineMs } from "../oauth/token-endpoint.ts";
import { KeyedResources } from "./keyed-resources.ts";
import { Leaving } from "./leaving.ts";

/** Pools of one kind: what each is made from, and how. */
export interface KindOfPool {
  /** The address that it leads to; undefined where the environment needs no such pool. */
  addressOf(environment: Environment): Address | undefined;
  /** All that the environment's pool is made from: configurations that agree in it share the pool. */
  keyOf(environment: Environment, config: Config): string;
  open(address: Address, environment: Environment, config: Config): Pool;
}

interface Lease {
  readonly pool: Pool;
  /** How long whoever began with it may still want it. */
  readonly lingerMs: number;
}

/** One pool of a kind for each environment. One that a configuration wants no more stays until its last user has ended. */
export class EnvironmentPools {
  readonly #kind: KindOfPool;
  readonly #shelf = new KeyedResources<Lease>();
  readonly #ofEnvironment = new WeakMap<Environment, Pool>();
  readonly #leaving: Leaving<Pool>;

  constructor(kind: KindOfPool, clock: Clock) {
    this.#kind = kind;
    this.#leaving = new Leaving(clock, { inTime: (pool) => pool.close(), atOnce: (pool) => pool.destroy() });
  }

  prepare(config: Config): void {
    const lingerMs = Math.max(config.timeouts.requestMs, fetchDeadlineMs) + 1_000;
    for (const environment of config.environments.values()) {
      const address = this.#kind.addressOf(environment);
      if (address === undefined) continue;
      const open = () => ({ pool: this.#kind.open(address, environment, config), lingerMs });
      const { pool } = this.#shelf.take(this.#kind.keyOf(environment, config), open);
      this.#ofEnvironment.set(environment, pool);
    }
  }

  keepOnly(config: Config): void {
    const keys = [...config.environments.values()].map((environment) => this.#kind.keyOf(environment, config));
    for (const { pool, lingerMs } of this.#shelf.keepOnly(keys)) this.#leaving.add(pool, lingerMs);
  }

  of(environment: Environment): Pool {
    const pool = this.#ofEnvironment.get(environment);
    if (pool === undefined) throw new Error("every environment that is served has its pools");
    return pool;
  }

  /** Ends all connections. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#shelf.all().map(({ pool }) => pool.destroy()), this.#leaving.end()]);
  }
}
