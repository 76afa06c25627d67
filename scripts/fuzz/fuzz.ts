import { findingsFolder, keptFolder, readCases } from "./cases.ts";
import { Chance } from "./chance.ts";
import { type Finding, Findings } from "./findings.ts";
import { generate } from "./generate.ts";
import { readAnswers } from "./read-answers.ts";
import type { Outcome, Stage } from "./stage.ts";

export interface Plan {
  readonly seed: number;
  readonly isOver: (inputs: number) => boolean;
  /** Ctrl-C ends the proxy as well, which is no finding. */
  readonly isInterrupted?: () => boolean;
  /** After every round. */
  readonly onProgress?: (progress: Progress) => void;
  readonly onFinding?: (finding: Finding) => void;
  /** Where findings are written; default: where the tests look for them. */
  readonly folder?: string;
}

export interface Progress {
  readonly inputs: number;
  /** How many answers of each status there were. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Requests that arrived upstream. */
  readonly sent: number;
  readonly broken: number;
  readonly findings: readonly Finding[];
}

const together = 24;
/** Every so many rounds connections go one at a time, so that what arrives upstream belongs to one of them. */
const serialEvery = 10;
const serialInputs = 8;

/** Rounds of connections until it is over. The same seed makes the same inputs in the same rounds. */
export async function fuzz(
  stage: Stage,
  { seed, isOver, isInterrupted, onProgress, onFinding, folder }: Plan,
): Promise<Progress> {
  const chance = new Chance(seed);
  const cases = [keptFolder, findingsFolder].flatMap(readCases).flatMap(([, { inputs }]) => inputs);
  const corpus = cases.map(({ bytes }) => bytes).filter((bytes) => bytes.length < 20_000);
  const findings = new Findings(stage, seed, folder);
  const statuses = new Map<number, number>();
  let inputs = 0;
  let sent = 0;
  const progress = () => ({ inputs, statuses, sent, broken: findings.broken, findings: findings.all });
  for (let round = 1; !isOver(inputs); round++) {
    const isSerial = round % serialEvery === 0;
    const drawn = Array.from({ length: isSerial ? serialInputs : together }, () => generate(chance, corpus));
    for (const group of isSerial ? drawn.map((input) => [input]) : [drawn]) {
      const outcome = await stage.play(group);
      if (isInterrupted?.()) return progress();
      inputs += group.length;
      sent += outcome.sent;
      countStatuses(outcome, statuses);
      for (const finding of await findings.keep(outcome)) onFinding?.(finding);
    }
    onProgress?.(progress());
  }
  return progress();
}

function countStatuses({ played }: Outcome, statuses: Map<number, number>): void {
  for (const { transcript } of played) {
    const { answers } = readAnswers(transcript.received, true);
    for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (answers.length === 0) statuses.set(0, (statuses.get(0) ?? 0) + 1);
  }
}
