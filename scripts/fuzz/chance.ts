import fc from "fast-check";

type Generator = Parameters<Parameters<ReturnType<typeof fc.gen>["map"]>[0]>[0];

/** All numbers are equally likely: fast-check would prefer small ones, and the limits of the range. */
const drawBelow = (bound: number) => fc.noBias(fc.nat(Math.max(0, Math.ceil(bound) - 1)));

/** All random choices for one input. fast-check repeats them by their seed, and makes the input smaller. */
export class Chance {
  readonly #draw: Generator;

  constructor(draw: Generator) {
    this.#draw = draw;
  }

  /** A whole number from 0 to below the bound. */
  below(bound: number): number {
    return this.#draw(drawBelow, bound);
  }

  /** True in so many of a hundred cases. fast-check makes an input smaller by making fewer cases true. */
  isLikely(percent: number): boolean {
    return this.below(100) >= 100 - percent;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }

  hex(digits: number): string {
    return Array.from({ length: digits }, () => this.below(16).toString(16)).join("");
  }
}
