import { type Document, isMap } from "yaml";
import { nameOf } from "./workloads.ts";
import { writeOut } from "./written-out.ts";

/**
 * An alias or a merge key makes one text stand in several places, so that a change of it is one too many, or is hidden by what
 * stands nearer. Whatever way that happens, what came out does not mean what comes out where nothing is shared.
 */
export function describeSharing(wanted: readonly Document[], injected: string): readonly string[] {
  const became = writeOut(injected);
  if (became.kind === "written-out") {
    return wanted.flatMap((document, index) => describeDifference(document, became.documents[index]) ?? []);
  }
  return became.problems.map(
    (problem) => `an anchor is on what is replaced, and needed elsewhere; move it: ${problem}`,
  );
}

function describeDifference(wanted: Document, became: Document | undefined): string | undefined {
  const path = findDifference(wanted.toJS(), became?.toJS());
  if (path === undefined) return undefined;
  const name = isMap(wanted.contents) ? nameOf(wanted.contents) : "a document";
  return `${name} shares ${path.join(".")} with another place by an alias or a merge key (<<), but only one of them is to change: write it out`;
}

/** The way to the first difference, through named items by their names; undefined where there is none. */
function findDifference(one: unknown, other: unknown): readonly string[] | undefined {
  if (!isCollection(one) || !isCollection(other)) return one === other ? undefined : [];
  const keys = Object.keys({ ...one, ...other });
  if (Object.keys(one).length < keys.length || Object.keys(other).length < keys.length) return [];
  for (const key of keys) {
    const inner = findDifference(one[key], other[key]);
    if (inner !== undefined) return [nameOfItem(one[key]) ?? key, ...inner];
  }
  return undefined;
}

type Collection = Readonly<Record<string, unknown>>;

function isCollection(value: unknown): value is Collection {
  return typeof value === "object" && value !== null;
}

function nameOfItem(item: unknown): string | undefined {
  return isCollection(item) && typeof item["name"] === "string" ? item["name"] : undefined;
}
