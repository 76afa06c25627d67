import type { z } from "zod";
import { patientSchema } from "./patient-schema.ts";
import type { Path } from "./problem.ts";
import type { RawConfig } from "./schema.ts";

/** What of a file can be checked further. */
export interface Salvaged {
  /** Undefined where the file is no mapping at all. */
  readonly raw: RawConfig | undefined;
  /** Where a place of `raw` is in the file: a list may have lost items. */
  placeInFile(path: Path): Path;
}

/** A file that the schema has nothing against. */
export function asItIs(raw: RawConfig): Salvaged {
  return { raw, placeInFile: (path) => path };
}

/** One round takes out what is faulty, the next what cannot be without it; nothing lies deeper than this. */
const mostRounds = 10;

/**
 * Takes out of a file what the schema refuses, so that the rest is checked all the same: every problem is reported at
 * once.
 */
export function salvage(value: unknown): Salvaged {
  const rest = closeGaps(value);
  const placeInFile = (path: Path) => reopenGaps(path, rest);
  for (let round = 0; round < mostRounds; round += 1) {
    const result = patientSchema.safeParse(closeGaps(rest));
    if (result.success) return { raw: result.data, placeInFile };
    const faulty = result.error.issues.flatMap(faultyPlaces).map(placeInFile);
    for (const place of faulty.map((each) => nearestPresent(rest, each))) takeOut(rest, place);
  }
  return { raw: undefined, placeInFile };
}

function faultyPlaces(issue: z.core.$ZodIssue): Path[] {
  const path = issue.path.filter((part) => typeof part !== "symbol");
  return issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...path, key]) : [path];
}

/** What is missing takes along what cannot be without it. */
function nearestPresent(root: unknown, path: Path): Path {
  const holder = valueAt(root, path.slice(0, -1));
  const isPresent = path.length === 0 || (isHolder(holder) && Object.hasOwn(holder, path.at(-1) ?? ""));
  return isPresent ? path : nearestPresent(root, path.slice(0, -1));
}

/** Takes a key out of its mapping, or leaves a gap in its list. */
function takeOut(root: unknown, path: Path): void {
  const holder = valueAt(root, path.slice(0, -1));
  if (isHolder(holder)) Reflect.deleteProperty(holder, path.at(-1) ?? "");
}

function valueAt(root: unknown, path: Path): unknown {
  return path.reduce((at, part) => (isHolder(at) ? at[part] : undefined), root);
}

/** A copy whose lists are without gaps. */
function closeGaps(value: unknown): unknown {
  // Object.values passes over gaps.
  if (Array.isArray(value)) return Object.values(value).map(closeGaps);
  if (!isHolder(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closeGaps(inner)]));
}

/** Once the first item is gone, the one in third place is the file's fourth. */
function reopenGaps(path: Path, withGaps: unknown): Path {
  let at = withGaps;
  return path.map((part) => {
    const original = Array.isArray(at) && typeof part === "number" ? Number(Object.keys(at)[part] ?? part) : part;
    at = isHolder(at) ? at[original] : undefined;
    return original;
  });
}

function isHolder(value: unknown): value is Record<string | number, unknown> {
  return typeof value === "object" && value !== null;
}
