import fc from "fast-check";
import { Chance } from "./chance.ts";
import { generate } from "./generate.ts";
import { type Case, findingsFolder, type Input, keptFolder, readCases, writeCase } from "./input.ts";
import { readAnswers } from "./read-answers.ts";
import type { Outcome, Stage } from "./stage.ts";

export interface Plan {
  readonly seed: number;
  /** Limits for rounds and time; when time is over, a case that is being made smaller stays as it is. */
  readonly rounds: number;
  readonly mostMs: number;
  /** The folder for findings. */
  readonly folder: string;
}

export interface Fuzzed {
  readonly inputs: number;
  /** How many answers of each status there were; 0 means no answer. */
  readonly statuses: ReadonlyMap<number, number>;
  /** The case that broke a promise, as small as it could be made. */
  readonly finding?: Case & { readonly file: string };
}

/** Connections at the same time. In a round of few it is clear what arrived upstream for each. */
const mostTogether = 24;

/** Plays rounds of connections until their time is over, or until one breaks a promise. The same seed makes the same rounds. */
export async function fuzz(stage: Stage, { seed, rounds, mostMs, folder }: Plan): Promise<Fuzzed> {
  const cases = [keptFolder, findingsFolder].flatMap(readCases).flatMap(([, { inputs }]) => inputs);
  const corpus = cases.map(({ bytes }) => bytes).filter((bytes) => bytes.length < 20_000);
  const statuses = new Map<number, number>();
  const endMs = performance.now() + mostMs;
  let inputs = 0;
  const property = fc.asyncProperty(drawRound(corpus), async (drawn) => {
    if (performance.now() >= endMs) throw new fc.PreconditionFailure(true);
    const outcome = await stage.play(drawn);
    inputs += drawn.length;
    countStatuses(outcome, statuses);
    if (outcome.broken.length === 0) return;
    throw new Error([...new Set(outcome.broken.map(({ oracle, seen }) => `${oracle}: ${seen}`))].join("; "));
  });
  const { counterexample, errorInstance } = await fc.check(property, { seed, numRuns: rounds });
  if (counterexample === null) return { inputs, statuses };
  const found = { why: (errorInstance as Error).message, seed, inputs: counterexample[0] };
  return { inputs, statuses, finding: { ...found, file: writeCase(folder, found) } };
}

function drawRound(corpus: readonly Buffer[]): fc.Arbitrary<Input[]> {
  const input = fc.gen().map((draw) => generate(new Chance(draw), corpus));
  return fc.array(input, { minLength: 1, maxLength: mostTogether, size: "max" });
}

function countStatuses({ played }: Outcome, statuses: Map<number, number>): void {
  for (const { transcript } of played) {
    const { answers } = readAnswers(transcript.received, true);
    for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (answers.length === 0) statuses.set(0, (statuses.get(0) ?? 0) + 1);
  }
}
