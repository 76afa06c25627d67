import { formatPath, type Problem } from "../diagnostics.ts";
import type { SiteFile } from "./site-file.ts";
import { type UniqueValue, UniqueValues } from "./uniqueness.ts";

/** A file that may be served: its latest version, else the one in force. */
export interface Candidate {
  readonly name: string;
  readonly inForce: SiteFile | undefined;
  /** The version that is chosen so far. */
  served: SiteFile | undefined;
  /** Of the latest version. */
  readonly problems: Problem[];
}

/** Gives up the chosen version for the one in force, or for none. */
export function fallBack(candidate: Candidate, values: UniqueValues): Candidate {
  const { inForce, served } = candidate;
  const isLeft = inForce !== undefined && served !== inForce && findClashes(inForce, values).length === 0;
  candidate.served = isLeft ? inForce : undefined;
  return candidate;
}

/** Whether no two candidates can clash; it takes a part of the time of `findLosses`. */
function areAllDifferent(candidates: readonly Candidate[]): boolean {
  const keys = new Set<string>();
  let count = 0;
  for (const { served } of candidates) {
    for (const { key } of served?.values ?? []) {
      keys.add(key);
      count += 1;
    }
  }
  return keys.size === count;
}

/** Files lose to the holder of a value first: what they give up then may let others be served. */
export function resolveClashes(candidates: readonly Candidate[], values: UniqueValues): void {
  const holders = new Map<string, Candidate>();
  for (const candidate of candidates) {
    for (const { key } of candidate.inForce?.values ?? []) holders.set(key, candidate);
  }
  for (;;) {
    if (areAllDifferent(candidates)) return;
    const losses = findLosses(candidates, holders);
    if (losses.length === 0) return;
    const isHeld = losses.some(({ holder }) => holder !== undefined);
    const losers = new Set<Candidate>();
    for (const { loser, holder, problem } of losses) {
      if (isHeld && holder === undefined) continue;
      loser.problems.push(problem);
      losers.add(loser);
    }
    for (const loser of losers) fallBack(loser, values);
  }
}

/** A value in the version of a file that is chosen so far. */
interface Claim {
  readonly candidate: Candidate;
  readonly value: UniqueValue;
}

/** A file that claims a value of another file. `holder`: of the two, the one that has it in force. */
interface Loss {
  readonly loser: Candidate;
  readonly holder: Candidate | undefined;
  readonly problem: Problem;
}

function findLosses(candidates: readonly Candidate[], holders: ReadonlyMap<string, Candidate>): Loss[] {
  const losses: Loss[] = [];
  const claims = new Map<string, Claim>();
  for (const candidate of candidates) {
    for (const value of candidate.served?.values ?? []) {
      const claim = { candidate, value };
      const [first, held] = [claims.get(value.key), holders.get(value.key)];
      if (first !== undefined) losses.push(...lossOf(first, claim, held), ...lossOf(claim, first, held));
      if (first === undefined || candidate === held) claims.set(value.key, claim);
    }
  }
  return losses;
}

/** What a claim loses to another one; nothing if there is no clash, or if its own file holds the value. */
function lossOf(own: Claim, other: Claim, held: Candidate | undefined): Loss[] {
  const loser = own.candidate;
  if (loser === other.candidate || loser === held) return [];
  const others = new UniqueValues();
  others.add(other.value);
  const holder = other.candidate === held ? held : undefined;
  return findClashes({ values: [own.value] }, others).map(({ message, ...rest }) => {
    return { loser, holder, problem: { ...rest, message: `${message} in ${other.candidate.name}` } };
  });
}

/** The clashes of the file with these values; none if the file can be served. */
export function findClashes({ values }: Pick<SiteFile, "values">, others: UniqueValues): Problem[] {
  const clashes: Problem[] = [];
  for (const value of values) {
    const clash = others.clashOf(value);
    const place = { line: 1, column: 1, found: undefined };
    if (clash !== undefined) clashes.push({ ...clash, ...place, path: formatPath(value.path) });
  }
  return clashes;
}
