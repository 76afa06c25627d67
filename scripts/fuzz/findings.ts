import { type Case, findingsFolder, writeCase } from "./cases.ts";
import type { Input } from "./input.ts";
import type { Oracle } from "./judge.ts";
import type { Blamed } from "./judge-upstream.ts";
import { minimise } from "./minimise.ts";
import type { Outcome, Stage } from "./stage.ts";

/** A case that breaks a promise, as small as it became. */
export interface Finding extends Case {
  readonly oracle: Oracle;
  readonly file: string;
}

/** One defect breaks its promise over and over; so many of a kind tell enough. */
const mostOfAKind = 5;
const minimisingMs = 20_000;

/** Everything that a run has found, each in a file. */
export class Findings {
  readonly #stage: Stage;
  readonly #seed: number;
  readonly #folder: string;
  readonly #all: Finding[] = [];
  #broken = 0;

  constructor(stage: Stage, seed: number, folder = findingsFolder) {
    this.#stage = stage;
    this.#seed = seed;
    this.#folder = folder;
  }

  get all(): readonly Finding[] {
    return this.#all;
  }

  /** Also those that were one too many of their kind. */
  get broken(): number {
    return this.#broken;
  }

  /** @returns those that are new */
  async keep({ played, blamed }: Outcome): Promise<readonly Finding[]> {
    const before = this.#all.length;
    this.#broken += blamed.length;
    for (const each of firstOfEachKind(blamed)) {
      if (this.#all.filter(({ oracle }) => oracle === each.oracle).length >= mostOfAKind) continue;
      const suspects = each.by === undefined ? played.map(({ input }) => input) : [each.by.input];
      this.#write(
        each,
        await this.#narrow(
          each.oracle,
          suspects,
          played.map(({ input }) => input),
        ),
      );
    }
    return this.#all.slice(before);
  }

  /** The one connection that does it alone, made small; or all of them as they were. */
  async #narrow(oracle: Oracle, suspects: readonly Input[], all: readonly Input[]): Promise<readonly Input[]> {
    const reproduces = async (input: Input) => {
      const { blamed } = await this.#stage.play([input]);
      return blamed.some((each) => each.oracle === oracle);
    };
    for (const suspect of suspects) {
      if (await reproduces(suspect)) return [await minimise(suspect, reproduces, performance.now() + minimisingMs)];
    }
    return all;
  }

  #write({ oracle, seen }: Blamed, inputs: readonly Input[]): void {
    const found: Case = { why: `${oracle}: ${seen}`, seed: this.#seed, inputs };
    const file = writeCase(this.#folder, found);
    if (!this.#all.some((each) => each.file === file)) this.#all.push({ ...found, oracle, file });
  }
}

function firstOfEachKind(blamed: readonly Blamed[]): readonly Blamed[] {
  return [...new Map(blamed.toReversed().map((each) => [each.oracle, each])).values()];
}
