import type { z } from "zod";
import { nearestName } from "../model/nearest-name.ts";
import { type Diagnostic, formatPath, type Path } from "./problem.ts";
import { nodesAt } from "./schema-places.ts";
import { durationPattern } from "./values.ts";

type Issue = z.core.$ZodIssue;
type IssueOf<Code extends Issue["code"]> = Extract<Issue, { code: Code }>;

/** Keys whose values may be secrets written in the wrong place: what stands there is never shown. */
const secretKeys = new Set(["secret", "clientSecret", "password", "encryptionKeys", "tokens"]);

/** Turns what the schema has against the file into findings for a person. */
export function describeIssues(issues: readonly Issue[]): Diagnostic[] {
  const findings = issues.flatMap((issue) => describeIssue(issue, []));
  // A misspelt key is one problem, not one too many and one too few.
  const meant = new Set(findings.map((finding) => finding.meant && formatPath(finding.meant)));
  return findings.filter(({ path }) => !meant.has(formatPath(path)));
}

function describeIssue(issue: Issue, base: Path): Diagnostic[] {
  const path: Path = [...base, ...issue.path.filter((part) => typeof part !== "symbol")];
  const findings = describeAt(issue, path);
  const isSecret = path.some((part) => secretKeys.has(String(part)));
  return isSecret ? findings.map((finding) => ({ ...finding, found: "hidden" })) : findings;
}

function describeAt(issue: Issue, path: Path): Diagnostic[] {
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => describeUnknownKey(key, path, Object.keys(issue.input ?? {})));
    case "invalid_union":
      return isSecretSource(path) ? [describeSecret(issue, path)] : describeNearest(issue, path);
    case "invalid_type":
      return [describeType(issue, path)];
    case "invalid_key":
      return [{ path, message: "nothing can be called so here", fix: fixOf(issue.issues[0]), found: keyOf(path) }];
    case "invalid_value":
      return [{ path, message: "this value is not known", fix: fixValue(issue) }];
    case "invalid_format":
      return [
        { path, message: issue.input === "" ? "this is empty" : "this has not the right form", fix: fixOf(issue) },
      ];
    case "too_small":
    case "too_big":
      return [describeSize(issue, path)];
    case "custom":
      return [{ path, message: issue.message, fix: String(issue.params?.["fix"] ?? "correct it") }];
    default:
      return [{ path, message: issue.message, fix: "see `countersign schema`" }];
  }
}

function fixValue({ input, values }: IssueOf<"invalid_value">): string {
  const names = values.map(String);
  const nearest = typeof input === "string" && names.length > 2 ? nearestName(input, names) : undefined;
  return nearest === undefined
    ? `write ${names.join(" or ")}`
    : `did you mean ${nearest}? It can be ${names.join(", ")}`;
}

/** The form's own words, as the schema gives them. */
function fixOf(issue: Issue | undefined): string {
  return issue?.message ?? "see `countersign schema`";
}

function keyOf(path: Path): string {
  return JSON.stringify(path.at(-1));
}

/** Its value is never shown: `clientsecret` may hold what `clientSecret` should not. */
function describeUnknownKey(key: string, holder: Path, given: readonly string[]): Diagnostic {
  const path = [...holder, key];
  const alternatives = nodesAt(holder).map(({ properties = {} }) => Object.keys(properties));
  const known = [...new Set(alternatives.flat())];
  if (known.includes(key)) {
    const fix = `write either ${alternatives.map((keys) => keys.join(", ")).join(" or ")}`;
    return { path, message: `${key} does not go with the other keys here`, fix, found: "hidden" };
  }
  const finding = { path, message: `there is no key ${key} here`, found: "hidden" };
  const nearest = nearestName(
    key,
    known.filter((name) => !given.includes(name)),
  );
  if (nearest === undefined) return { ...finding, fix: `remove it; what can stand here: ${known.join(", ")}` };
  return { ...finding, fix: `did you mean ${nearest}?`, meant: [...holder, nearest] };
}

function isSecretSource(path: Path): boolean {
  const key = path.findLast((part) => typeof part === "string");
  return secretKeys.has(String(key));
}

function describeSecret({ errors, input }: IssueOf<"invalid_union">, path: Path): Diagnostic {
  if (input === undefined) {
    const key = path.findLast((part) => typeof part === "string");
    const fix = `say where it is: ${key}: { file: /path }, or second best { env: NAME }`;
    return { path, message: `${key} is missing`, fix };
  }
  const isWrittenOut = errors.every(([first]) => first?.code === "invalid_type" && first.path.length === 0);
  const message = isWrittenOut
    ? "a secret is never written into the configuration"
    : "this does not say where the secret is";
  return { path, message, fix: "put it into a file and write { file: /path }, or second best { env: NAME }" };
}

/** Of several alternatives, the one that comes nearest is explained; where none does, the schema's own words say what can be. */
function describeNearest({ errors, input, message: ways }: IssueOf<"invalid_union">, path: Path): Diagnostic[] {
  const [nearest = []] = errors.toSorted((a, b) => distanceOf(a) - distanceOf(b));
  const isOther = nearest.some(({ path, code }) => path.length === 0 && code !== "unrecognized_keys");
  if (isOther && ways.startsWith("write ")) {
    const message = Array.isArray(input) ? "this cannot be a list" : "this value is not known";
    return [{ path, message, fix: ways }];
  }
  return nearest.flatMap((issue) => describeIssue(issue, path));
}

/** Wrong at the top is further off than wrong within; a key too many is worse than one too few. */
function distanceOf(issues: readonly Issue[]): number {
  return issues.reduce((sum, issue) => {
    const isOtherKind =
      issue.code === "invalid_type" || (issue.code === "invalid_value" && typeof issue.input === "object");
    if (issue.path.length === 0 && isOtherKind) return sum + 100;
    return sum + (issue.code === "unrecognized_keys" ? 2 * issue.keys.length : 1);
  }, 0);
}

/** What to call the kinds of values, for a person who writes YAML. */
const kinds: Readonly<Record<string, string>> = {
  object: "a mapping",
  record: "a mapping",
  array: "a list",
  string: "a text",
  int: "a whole number",
  number: "a number",
  boolean: "true or false",
};

function describeType({ expected, input, message }: IssueOf<"invalid_type">, path: Path): Diagnostic {
  if (path.at(-1) === "version" && typeof input === "number") {
    return { path, message, fix: 'write it in quotes, like "3.0"' };
  }
  const kind = kinds[expected] ?? expected;
  const [example] = nodesAt(path).flatMap(({ examples = [] }) => examples);
  const like = example === undefined ? "" : `, like ${JSON.stringify(example)}`;
  if (input === undefined) {
    return { path, message: `${String(path.at(-1) ?? "the configuration")} is missing`, fix: `add ${kind}${like}` };
  }
  if (expected === "string" && typeof input === "number" && durationPattern.test(String(example))) {
    return { path, message: `${input} has no unit`, fix: `write it with ms, s, m or h${like}` };
  }
  if (expected === "number" || expected === "int") {
    const [{ minimum, maximum } = {}] = nodesAt(path);
    return {
      path,
      message: `this must be ${kind}, without quotes or unit`,
      fix: `write ${kind} from ${minimum} to ${maximum}`,
    };
  }
  if (expected === "array" && typeof input === "string") {
    const item = path.at(-1) === "operations" ? `, in brackets: [${input === "*" ? '"*"' : input}]` : "";
    return { path, message: "this must be a list", fix: `write a list${item}`, found: "a text" };
  }
  // A text in place of a mapping may be a secret.
  const found = typeof input === "string" ? "a text" : undefined;
  return { path, message: `this must be ${kind}`, fix: `write ${kind}${like}`, ...(found && { found }) };
}

function describeSize({ code, origin, input }: IssueOf<"too_small" | "too_big">, path: Path): Diagnostic {
  if (origin === "string" || origin === "array") return { path, message: "this is empty", fix: "write at least one" };
  const [{ minimum, maximum } = {}] = nodesAt(path);
  const [side, bound, limit] = code === "too_small" ? ["less", "least", minimum] : ["more", "most", maximum];
  const message = `${String(input)} is ${side} than ${limit}, the ${bound} that is allowed`;
  return { path, message, fix: `write a number from ${minimum} to ${maximum}` };
}
