import type { z } from "zod";
import { jsonSchema } from "./json-schema.ts";
import type { Finding, Path } from "./problem.ts";

type Issue = z.core.$ZodIssue;

/** Keys whose values may be secrets written in the wrong place: what stands there is never shown. */
const secretKeys = new Set(["secret", "clientSecret", "password", "encryptionKeys", "tokens"]);

/** Turns what the schema has against the file into findings for a person. */
export function describeIssues(issues: readonly Issue[]): Finding[] {
  return issues.flatMap((issue) => describeIssue(issue, []));
}

function describeIssue(issue: Issue, base: Path): Finding[] {
  const path: Path = [...base, ...issue.path.filter((part) => typeof part !== "symbol")];
  const found = path.some((part) => secretKeys.has(String(part))) ? ({ found: "hidden" } as const) : {};
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => ({
        path: [...path, key],
        message: `there is no key ${key} here`,
        mend: suggest(key),
        ...found,
      }));
    case "invalid_union":
      return describeUnion(issue, path, found);
    case "custom":
      return [{ path, message: issue.message, mend: String(issue.params?.["mend"] ?? "correct it"), ...found }];
    case "invalid_type":
      return [describeType(issue, path, found)];
    case "invalid_value":
      return [
        { path, message: "this value is not known", mend: `write ${issue.values.map(String).join(" or ")}`, ...found },
      ];
    case "invalid_format":
      return [
        {
          path,
          message: "this has not the right form",
          mend: `it must match ${issue.format === "regex" ? issue.pattern : issue.format}`,
          ...found,
        },
      ];
    case "too_small":
      return [
        {
          path,
          message: describeSmall(issue.minimum, issue.origin),
          mend: `at least ${issue.minimum}${unitOf(issue.origin)}`,
          ...found,
        },
      ];
    case "too_big":
      return [
        { path, message: "this is too large", mend: `at most ${issue.maximum}${unitOf(issue.origin)}`, ...found },
      ];
    default:
      return [{ path, message: issue.message, mend: "see `countersign schema`", ...found }];
  }
}

type Shown = { readonly found?: "hidden" };

/** Of several alternatives, the one that comes nearest is explained; a secret written out is named as such. */
function describeUnion(issue: Extract<Issue, { code: "invalid_union" }>, path: Path, found: Shown): Finding[] {
  if (secretKeys.has(String(path.at(-1))) || secretKeys.has(String(path.at(-2)))) {
    const isText = issue.errors.every(([first]) => first?.code === "invalid_type" && first.path.length === 0);
    const message = isText
      ? "a secret is never written into the configuration"
      : "this does not say where the secret is";
    return [
      {
        path,
        message,
        mend: "put it into a file and write { file: /path }, or second best { env: NAME }",
        found: "hidden",
      },
    ];
  }
  const nearest = issue.errors.toSorted((a, b) => badness(a) - badness(b))[0] ?? [];
  return nearest.flatMap((inner) => describeIssue(inner, path)).map((finding) => ({ ...found, ...finding }));
}

/** Wrong at the top is further off than wrong within; a key too many is worse than one too few. */
function badness(issues: readonly Issue[]): number {
  const weigh = (issue: Issue) =>
    issue.path.length === 0 && issue.code === "invalid_type"
      ? 100
      : issue.code === "unrecognized_keys"
        ? 2 * issue.keys.length
        : 1;
  return issues.reduce((sum, issue) => sum + weigh(issue), 0);
}

function describeType(issue: Extract<Issue, { code: "invalid_type" }>, path: Path, found: Shown): Finding {
  if (path.at(-1) === "version" && typeof issue.input === "number") {
    return { path, message: issue.message, mend: 'write it in quotes, like "3.0"', ...found };
  }
  const expected =
    issue.expected === "record" || issue.expected === "object"
      ? "mapping"
      : issue.expected === "array"
        ? "list"
        : issue.expected;
  const isMissing = issue.input === undefined;
  const message = isMissing ? `${String(path.at(-1) ?? "the configuration")} is missing` : `this must be a ${expected}`;
  return { path, message, mend: isMissing ? `add it; it is a ${expected}` : `write a ${expected}`, ...found };
}

function describeSmall(minimum: number | bigint, origin: string): string {
  return minimum === 1 && (origin === "string" || origin === "array") ? "this is empty" : "this is too small";
}

function unitOf(origin: string): string {
  return origin === "string" ? " character" : origin === "array" ? " item" : "";
}

function suggest(key: string): string {
  const known = [...knownKeys(jsonSchema())];
  const [nearest] = known
    .map((name) => ({ name, distance: editDistance(key.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const isNear = nearest !== undefined && nearest.distance <= Math.max(1, Math.floor(key.length / 3));
  return isNear && nearest.distance > 0
    ? `did you mean ${nearest.name}?`
    : "remove it, or see `countersign schema` for where it belongs";
}

function knownKeys(schema: unknown, keys = new Set<string>()): ReadonlySet<string> {
  if (typeof schema !== "object" || schema === null) return keys;
  for (const [name, value] of Object.entries(schema)) {
    if (name === "properties" && typeof value === "object" && value !== null)
      for (const key of Object.keys(value)) keys.add(key);
    knownKeys(value, keys);
  }
  return keys;
}

/** Levenshtein's, row by row. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitute = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitute, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
