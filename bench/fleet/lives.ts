/** A token's life on the authorization server's side: from its request until the next request that is not premature. */
export interface Life {
  readonly beganAtMs: number;
  /** Token requests, the first included. */
  requests: number;
  /** Requests of processes whose previous token request is less than a life ago. */
  repeats: number;
}

/** No replica may refresh before 80 % of a token's life; an earlier request is one more token in the same life. */
const earliestShare = 0.79;

/** Sorts token requests into lives. */
export class Lives {
  readonly #shortestMs: number;
  readonly #lives: Life[] = [];
  readonly #lastByProcess = new Map<string, number>();

  constructor(lifetimeMs: number) {
    this.#shortestMs = lifetimeMs * earliestShare;
  }

  get count(): number {
    return this.#lives.length;
  }

  /** @param index from 0, of a life that has begun */
  at(index: number): Life {
    const life = this.#lives[index];
    if (life === undefined) throw new Error(`life ${index} has not begun`);
    return life;
  }

  note(nowMs: number, process: string): void {
    const life = this.#lifeOf(nowMs);
    life.requests += 1;
    if (this.#isPremature(nowMs, this.#lastByProcess.get(process))) life.repeats += 1;
    this.#lastByProcess.set(process, nowMs);
  }

  #lifeOf(nowMs: number): Life {
    const last = this.#lives.at(-1);
    if (last !== undefined && this.#isPremature(nowMs, last.beganAtMs)) return last;
    const next: Life = { beganAtMs: nowMs, requests: 0, repeats: 0 };
    this.#lives.push(next);
    return next;
  }

  #isPremature(nowMs: number, sinceMs = Number.NEGATIVE_INFINITY): boolean {
    return nowMs < sinceMs + this.#shortestMs;
  }
}
