import { Pool } from "undici";

/** A replica that receives orders. */
export interface Target {
  readonly replica: string;
  readonly pool: Pool;
}

export interface LoadParts {
  /** Sends one order; never rejects. Turns count from 1. */
  readonly order: (target: Target, turn: number) => Promise<void>;
  /** After a stall, at most this many of the missed orders are sent together. */
  readonly mostAtOnce: number;
  readonly poolOptions?: Pool.Options;
}

interface OpenTarget extends Target {
  readonly open: Set<Promise<void>>;
}

const tickMs = 10;

/** Orders at a steady rate, to each replica in turn, even if earlier orders have no answer yet. */
export class Load {
  readonly #parts: LoadParts;
  readonly #targets = new Map<string, OpenTarget>();
  /** Orders under way, including those to removed replicas. */
  readonly #open = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #turn = 0;

  constructor(parts: LoadParts) {
    this.#parts = parts;
  }

  /** How many replicas receive orders. */
  get size(): number {
    return this.#targets.size;
  }

  add(replica: string, url: string): void {
    const pool = new Pool(url, this.#parts.poolOptions);
    this.#targets.set(replica, { replica, pool, open: new Set() });
  }

  /** The replica for this turn; undefined if there is none. */
  choose(turn: number): OpenTarget | undefined {
    return [...this.#targets.values()][turn % Math.max(1, this.#targets.size)];
  }

  /** Sends no more orders to this replica. Resolves when its open orders have been answered. */
  async remove(replica: string): Promise<void> {
    const target = this.#targets.get(replica);
    if (target === undefined) return;
    this.#targets.delete(replica);
    await Promise.all(target.open);
    await target.pool.close();
  }

  start(perSecond: number): void {
    const startedMs = performance.now();
    let made = 0;
    this.#timer = setInterval(() => {
      const wanted = Math.floor(((performance.now() - startedMs) / 1_000) * perSecond);
      for (let count = Math.min(wanted - made, this.#parts.mostAtOnce); count > 0; count--) {
        const next = this.choose(this.#turn);
        if (next !== undefined) void this.#order(next);
      }
      made = wanted;
    }, tickMs);
  }

  /** Sends no more orders, and resolves when all have been answered. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#open);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#targets.values()].map(({ pool }) => pool.destroy()));
  }

  #order(target: OpenTarget): Promise<void> {
    this.#turn += 1;
    const order = this.#parts.order(target, this.#turn).finally(() => {
      target.open.delete(order);
      this.#open.delete(order);
    });
    target.open.add(order);
    this.#open.add(order);
    return order;
  }
}
