import { seededRandom } from "../../testkit/seeded-random.ts";

/** Everything that is drawn in a run comes from here, so its seed repeats it. */
export class Chance {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = seededRandom(seed);
  }

  /** A whole number from 0 to below the bound. */
  below(bound: number): number {
    return Math.floor(this.#next() * bound);
  }

  /** True in so many of a hundred cases. */
  isLikely(percent: number): boolean {
    return this.#next() * 100 < percent;
  }

  pick<T>(choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] ?? choices[0];
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }

  hex(digits: number): string {
    return Array.from({ length: digits }, () => this.below(16).toString(16)).join("");
  }
}
