import type { Pool } from "../adapters/undici/pools.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { Environment } from "../environment.ts";
import { fetchDeadlineMs } from "../tokens/endpoint.ts";
import { Shelf } from "./shelf.ts";

/** Pools of one kind: what each is made from, and how. */
export interface KindOfPool {
  /** All that the environment's pool is made from: configurations that agree in it share the pool. */
  keyOf(environment: Environment, config: Config): string;
  open(environment: Environment, config: Config): Pool;
}

interface Lease {
  readonly pool: Pool;
  /** How long whoever began with it may still want it. */
  readonly lingerMs: number;
}

/** One pool of a kind for each environment. One that a configuration wants no more stays until its last user has ended. */
export class EnvironmentPools {
  readonly #kind: KindOfPool;
  readonly #clock: Clock;
  readonly #shelf = new Shelf<Lease>();
  readonly #ofEnvironment = new WeakMap<Environment, Pool>();
  readonly #leaving = new Set<Pool>();
  #isDestroyed = false;

  constructor(kind: KindOfPool, clock: Clock) {
    this.#kind = kind;
    this.#clock = clock;
  }

  prepare(config: Config): void {
    const lingerMs = Math.max(config.timeouts.requestMs, fetchDeadlineMs) + 1_000;
    for (const environment of config.environments.values()) {
      const open = () => ({ pool: this.#kind.open(environment, config), lingerMs });
      const { pool } = this.#shelf.take(this.#kind.keyOf(environment, config), open);
      this.#ofEnvironment.set(environment, pool);
    }
  }

  keepOnly(config: Config): void {
    const keys = [...config.environments.values()].map((environment) => this.#kind.keyOf(environment, config));
    for (const lease of this.#shelf.keepOnly(keys)) this.#retire(lease);
  }

  of(environment: Environment): Pool {
    const pool = this.#ofEnvironment.get(environment);
    if (pool === undefined) throw new Error("every environment that is served has its pools");
    return pool;
  }

  /** Ends all connections. */
  async destroy(): Promise<void> {
    this.#isDestroyed = true;
    const pools = [...this.#shelf.all().map(({ pool }) => pool), ...this.#leaving];
    this.#leaving.clear();
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  #retire({ pool, lingerMs }: Lease): void {
    // A reload was under way when everything ended.
    if (this.#isDestroyed) return void pool.destroy();
    this.#leaving.add(pool);
    this.#clock.after(lingerMs, () => {
      // Unless everything has ended meanwhile.
      if (this.#leaving.delete(pool)) void pool.close();
    });
  }
}
