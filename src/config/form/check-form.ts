import type * as z from "zod";
import { listNames, nearestName, onlyNameWith } from "../../model/names.ts";
import { type Diagnostics, formatPath, type Path, showKey } from "../diagnostics.ts";
import { template, unusualIn } from "../files/characters.ts";
import { findOutside } from "./indentation.ts";
import { nodesAt, type SchemaNode } from "./schema.ts";
import { exampleOf, fits, placesFor, wrapped } from "./suggestions.ts";
import { outOfRange } from "./values.ts";

/** `async` is what zod sets in its copy. Added to the copy, it would make V8 of Node.js 20 a new hidden class for each file. */
const parsing = { reportInput: true, async: false };

/**
 * Reports every problem of form; returns the file's content, typed and with defaults, if there is none.
 * @param base the path of the part of the configuration that the file holds
 */
export function checkForm<Schema extends z.ZodType>(
  value: unknown,
  schema: Schema,
  diagnostics: Diagnostics,
  base: Path = [],
): z.output<Schema> | undefined {
  // Most files have neither. No JSON has two braces side by side.
  const placeholders = /\$|\{\{/.test(JSON.stringify(value) ?? "") ? findPlaceholders(value, base) : [];
  const parsed = schema.safeParse(value, parsing);
  if (parsed.success && placeholders.length === 0) return parsed.data;
  const issues = parsed.success ? [] : describeIssues(parsed.error.issues, { value, base });
  const outside = parsed.success ? [] : findOutside(value, base);
  // A placeholder's text seldom fits the schema, nor does a mapping whose keys are outside of it; one problem is enough.
  const isConsequence = createIsAbout([
    ...placeholders.map(({ path }) => path),
    ...outside.flatMap(({ path, holder, keys }) =>
      keys.flatMap((key) => [
        [...path.slice(0, -1), key],
        [...holder, key],
      ]),
    ),
  ]);
  const others = issues.filter((issue) => !isConsequence(issue));
  for (const { path, holder, keys } of outside) {
    const fix = `indent ${listNames(keys)} deeper than ${holder.at(-1)} (line ${diagnostics.lineOf(holder)})`;
    diagnostics.report(path, `${keys[0]} belongs below ${holder.at(-1)}`, fix, "hidden");
  }
  for (const { path, message, fix, found } of [...placeholders, ...others]) {
    diagnostics.report(path, message, fix, found);
  }
  return undefined;
}

/** `${NAME}`, `${NAME:-…}` and `$(NAME)`, as shells, Compose, Spring and Kubernetes replace them. */
const placeholder = /\$(?:\{\s*([A-Za-z_][A-Za-z0-9_.]*)|\(\s*([A-Za-z_][A-Za-z0-9_]*)\s*\))/;
/** `{ env: $NAME }`. */
const dollarName = /^\$\{?\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}?$/;

/**
 * Finds keys and values that were meant to be replaced. Nothing is expanded: the text would be used as written.
 * Only the variable's name is shown, since a default after the name may be a secret.
 */
function findPlaceholders(value: unknown, path: Path = []): FormProblem[] {
  if (typeof value === "string") return describePlaceholder(value, path);
  if (Array.isArray(value)) return value.flatMap((item, index) => findPlaceholders(item, [...path, index]));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...describePlaceholder(key, [...path, key]),
    ...findPlaceholders(inner, [...path, key]),
  ]);
}

function describePlaceholder(text: string, path: Path): FormProblem[] {
  if (text.includes("{{")) return [{ path, ...template, found: "hidden" }];
  if (path.at(-1) === "env") {
    const [, name] = dollarName.exec(text) ?? [];
    const message = "the name of an environment variable is written without $";
    return name === undefined ? [] : [{ path, message, fix: `write { env: ${name} }`, found: "hidden" }];
  }
  const [, inBraces, inParentheses] = placeholder.exec(text) ?? [];
  const name = inBraces ?? inParentheses;
  if (name === undefined) return [];
  const fix = isSecretAt(path)
    ? `write { env: ${name} } in its place, or better { file: /path }`
    : "write the value itself, or let a tool such as envsubst write this file; only secrets are named by { file } or { env }";
  const found = inBraces === undefined ? `$(${name})` : `\${${name}}`;
  return [{ path, message: "nothing is expanded in this file", fix, found }];
}

/** Makes a test: whether a fault is about the value at one of these paths, or about the mapping that holds it. */
function createIsAbout(paths: readonly Path[]): (fault: FormProblem) => boolean {
  const own = new Set(paths.map(formatPath));
  const holders = new Set(paths.map((path) => formatPath(path.slice(0, -1))));
  return ({ path }) =>
    holders.has(formatPath(path)) || path.some((_, index) => own.has(formatPath(path.slice(0, index + 1))));
}

type Issue = z.core.$ZodIssue;
type IssueOf<Code extends Issue["code"]> = Extract<Issue, { code: Code }>;

interface Words {
  readonly message: string;
  readonly fix: string;
  /** Shown instead of the value in the file; `hidden` if that may be a secret. */
  readonly found?: string;
}

/** A problem of form, before its place in the file is looked up. */
interface FormProblem extends Words {
  readonly path: Path;
  /** The path that was probably meant, if a key is misspelt. */
  readonly meant?: Path;
}

/**
 * Whether the value at a path may be a secret, which is never shown: if the schema allows the source of a secret there, or a
 * list or a mapping of sources; and in the further fields of token requests.
 */
function isSecretAt(path: Path): boolean {
  const withItems: readonly Path[] = [path, [...path, 0], [...path, ""]];
  return path.at(-1) === "extra" || withItems.some((at) => nodesAt(at).some(isSource));
}

/** Whether a node is the source of a secret: only such nodes have a key `env`. */
function isSource({ properties = {} }: SchemaNode): boolean {
  return properties["env"] !== undefined;
}

/** Keys, some with their section, and what other programs call such a setting. */
const otherNames: Readonly<Record<string, RegExp>> = {
  bind: /^(host(name)?|port|address|listen)$/,
  url: /^(host(name)?|port|address)$/,
  baseUrl: /^(url|host|address|endpoint|upstream)$/,
  folder: /^(dir|directory|path|files?)$/,
  dir: /^(folder|directory|path)$/,
  clientId: /^user(name)?$/,
  clientSecret: /^password$/,
  secret: /^(clientSecret|password)$/,
  "egress.auth": /^(user(name)?|password)$/,
};

/** The key that was meant, under the name that other programs have for it, and the fix. */
function renamed(given: string, holder: Path, keys: readonly string[]) {
  const namesOf = (key: string) => otherNames[`${holder.at(-1)}.${key}`] ?? otherNames[key];
  const meant = keys.find((key) => key === given || namesOf(key)?.test(given));
  if (meant === undefined) return undefined;
  const nodes = nodesAt(holder).flatMap(({ properties }) => properties?.[meant] ?? []);
  return { meant: [...holder, meant], fix: `write ${meant}${like(nodes.map(exampleOf))}` };
}

const mostPlaces = 3;
const nowhere = "remove it";
const seeSchema = "see `countersign schema`";

/** The last part of a path that is no list position. */
function lastKey(path: Path): string {
  return String(path.findLast((part) => typeof part === "string"));
}

/** The content of a file, and the path of the part of the configuration that it is. */
interface Source {
  readonly value: unknown;
  readonly base: Path;
}

/** Describes the schema's issues in words for people. */
function describeIssues(issues: readonly Issue[], source: Source): FormProblem[] {
  const faults = issues.flatMap((issue) => describeIssue(issue, source));
  // A misspelt key is one problem, not an unknown key and a missing one.
  const meant = new Set(faults.map((fault) => fault.meant && formatPath(fault.meant)));
  return faults.filter(({ path }) => !meant.has(formatPath(path)));
}

function describeIssue(issue: Issue, source: Source, holder: Path = source.base): FormProblem[] {
  const path: Path = [...holder, ...issue.path.filter((part) => typeof part !== "symbol")];
  const described = describeAt(issue, path, source);
  return isInSecret(path) ? described.map((fault) => ({ ...fault, found: "hidden" })) : described;
}

function isInSecret(path: Path): boolean {
  return path.some((_, index) => isSecretAt(path.slice(0, index + 1)));
}

function describeAt(issue: Issue, path: Path, source: Source): FormProblem[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => describeUnknownKey(key, path, issue.input ?? {}, source));
  }
  if (issue.code !== "invalid_union") {
    const { message, ...words } = wordsOf(issue, path);
    const wrong = issue.code === "invalid_key" ? path.at(-1) : issue.input;
    const isShown = issue.code !== "invalid_type" && typeof wrong === "string" && !isInSecret(path);
    return [{ path, ...words, message: isShown ? message + unusualIn(wrong) : message }];
  }
  if (!isSecretAt(path)) return describeNearest(issue, path, source);
  const keys = typeof issue.input === "object" ? Object.keys(issue.input ?? {}) : [];
  // Another key may be the secret itself.
  const isNearly = keys.length > 0 && keys.every((key) => nearestName(key, ["file", "env"]) !== undefined);
  if (!isNearly) return [{ path, ...describeSecret(issue, path) }];
  return describeNearest(issue, path, source).filter((fault) => keys.includes(lastKey(fault.path)));
}

function wordsOf(issue: Issue, path: Path): Words {
  switch (issue.code) {
    case "invalid_type":
      return describeType(issue, path);
    case "invalid_key": {
      const name = String(path.at(-1));
      const holder = path.slice(0, -1);
      const keys = nodesAt(holder).flatMap(({ properties = {} }) => Object.keys(properties));
      const other = renamed(nearestName(name, keys) ?? name, holder, keys);
      const fix = other?.fix ?? issue.issues[0]?.message ?? seeSchema;
      return { message: "this name is not allowed here", fix, found: JSON.stringify(name) };
    }
    case "invalid_value":
      return { message: "this value is not known", fix: fixValue(issue) };
    case "invalid_format":
      return { message: issue.input === "" ? "this is empty" : "this has not the right form", fix: issue.message };
    case "too_small":
    case "too_big":
      return describeSize(issue, path);
    case "custom":
      return { message: issue.message, fix: "correct it", ...issue.params };
    default:
      return { message: issue.message, fix: seeSchema };
  }
}

function fixValue({ input, values }: IssueOf<"invalid_value">): string {
  const names = values.map(String);
  const name = typeof input === "string" && names.length > 2 ? input : undefined;
  const nearest = name === undefined ? undefined : (nearestName(name, names) ?? onlyNameWith(name, names));
  return nearest === undefined
    ? `write ${names.join(" or ")}`
    : `did you mean ${nearest}? It can be ${names.join(", ")}`;
}

/** The key's value is never shown: a misspelt `clientsecret` may hold the secret itself. */
function describeUnknownKey(
  key: string,
  holder: Path,
  input: Readonly<Record<string, unknown>>,
  source: Source,
): FormProblem {
  const path = [...holder, key];
  const given = Object.keys(input);
  const alternatives = nodesAt(holder).map(({ properties = {}, additionalProperties }) =>
    typeof additionalProperties === "object" ? [key] : Object.keys(properties),
  );
  const known = [...new Set(alternatives.flat())];
  if (known.includes(key)) {
    const fitting = alternatives.filter((keys) => keys.includes(key)).flat();
    const others = given.filter((name) => !fitting.includes(name));
    const missing = fitting.filter((name) => !given.includes(name));
    const more = missing.length === 0 ? "" : `; with ${key} can stand ${missing.join(", ")}`;
    const fix = `remove ${key}, or remove ${others.join(", ")}${more}`;
    return { path, message: `${key} does not go with ${others.join(", ")}`, fix, found: "hidden" };
  }
  const free = known.filter((name) => !given.includes(name));
  const nearest = nearestName(key, free) ?? onlyNameWith(key, free);
  const other = renamed(key, holder, free);
  const fault = { path, message: `there is no key ${showKey(key)} here${unusualIn(key)}`, found: "hidden" };
  const blank = missingBlank(key, free);
  if (other !== undefined) return { ...fault, ...other };
  if (blank !== undefined) return { ...fault, fix: blank };
  const isMeant = nearest !== undefined && nodesAt([...holder, nearest]).some((node) => fits(node, input[key]));
  // Another key may begin with this one: `authUrl` with `auth`.
  if (nearest === undefined || (key.startsWith(nearest) && !isMeant)) {
    const place = placeFor(path, input[key], source);
    const hasPlace = nearest === undefined || place !== nowhere;
    if (hasPlace) return { ...fault, fix: `${place}; possible keys: ${known.join(", ")}` };
  }
  return { ...fault, fix: `did you mean ${nearest}?`, meant: [...holder, nearest] };
}

/** What to do about `{file:x}`, which is one key. */
function missingBlank(key: string, keys: readonly string[]): string | undefined {
  const [, name = ""] = /^(\w+)[:=]/.exec(key) ?? [];
  return keys.includes(name) ? `put a colon and a blank after ${name}` : undefined;
}

/** What to do with a key that is not allowed where it is. */
function placeFor(path: Path, value: unknown, { value: document, base }: Source): string {
  if (base.includes(path.at(-1) ?? "")) {
    return `the file holds the settings of ${base.at(-1)} alone: write them without ${path.at(-1)}: above them`;
  }
  const around = path.length === 1 ? keysAround(String(path[0]), value) : [];
  if (around.length > 0) return `write what is in it without ${around.join(": and ")}: above`;
  const { paths, isFit, isTaken, isOutside } = placesFor(path, value, document, base);
  if (paths.length === 0) return nowhere;
  const all = [...new Set(paths.map(formatPath))];
  const places = `${all.slice(0, mostPlaces).join(" or ")}${all.length > mostPlaces ? ", among others" : ""}`;
  const where = isOutside ? `${places}, which is not in this file` : places;
  if (isFit) return `move it to ${where}, or remove it`;
  const merged = typeof value === "object" ? "merged with" : "in place of";
  const taken = isTaken ? `, ${merged} what is there, or remove it` : "";
  return `it ${all.length === 1 ? "belongs" : "can stand"} at ${where}${taken}`;
}

/** The keys around a whole configuration, as in a ConfigMap or a chart's values. */
function keysAround(key: string, value: unknown): string[] {
  const inner = typeof value === "object" ? Object.entries(value ?? {}) : [];
  if (inner.some(([name]) => /^(environments|listeners)$/.test(name))) return [key];
  const [name] = inner.find(([, text]) => typeof text === "string" && /^(environments|listeners):/m.test(text)) ?? [];
  return name === undefined ? [] : [key, name];
}

/** Also used for a secret that only another setting demands. */
export function missingSecret(key: string): Words {
  return {
    message: `${key} is missing`,
    fix: `say where it is: ${key}: { file: /path }, or second best { env: NAME }`,
  };
}

function describeSecret({ errors, input }: IssueOf<"invalid_union">, path: Path): Words {
  if (input === undefined) return missingSecret(lastKey(path));
  const isWrittenOut = errors.every(([first]) => first?.code === "invalid_type" && first.path.length === 0);
  const message = isWrittenOut
    ? "a secret is never written into the configuration"
    : "this does not say where the secret is";
  const [key = ""] = isWrittenOut ? [] : Object.keys(input ?? {});
  const blank = missingBlank(key, ["file", "env"]);
  return { message, fix: blank ?? "put it into a file and write { file: /path }, or second best { env: NAME }" };
}

/** Explains the nearest of several alternatives; if none is near, the schema's own message lists what is allowed. */
function describeNearest(
  { errors, input, message: ways }: IssueOf<"invalid_union">,
  path: Path,
  source: Source,
): FormProblem[] {
  const [nearest = []] = errors.toSorted((a, b) => distanceOf(a) - distanceOf(b));
  const isOther = nearest.some(({ path, code }) => path.length === 0 && code !== "unrecognized_keys");
  if (!isOther || !ways.startsWith("write ")) {
    return nearest.flatMap((issue) => describeIssue(issue, source, path));
  }
  const message = Array.isArray(input) ? "this cannot be a list" : "this value is not known";
  return [{ path, message, fix: ways }];
}

/**
 * How far a value is from an alternative. A wrong kind counts most, and an unknown key more than a missing one. Problems
 * further down do not count: a value that has them has the form of this alternative.
 */
function distanceOf(issues: readonly Issue[]): number {
  const distances = issues.map((issue) => {
    const { length } = issue.path;
    if (issue.code === "unrecognized_keys") return length === 0 ? 2 * issue.keys.length : 0;
    if (length === 0 && (issue.code === "invalid_type" || issue.code === "invalid_value")) return 100;
    return length > 1 ? 0 : 1;
  });
  return distances.reduce((sum, distance) => sum + distance, 0);
}

/** Names for the kinds of values, for a person who writes YAML. */
const kinds: Readonly<Record<string, string>> = {
  object: "a mapping",
  record: "a mapping",
  array: "a list",
  string: "a text",
  int: "a whole number",
  number: "a number",
  boolean: "true or false",
};

/** A setting that is missing, with the schema's example; also used for one that only another setting demands. */
export function missing(path: Path, kind = "a text"): Words {
  return { message: `${path.at(-1)} is missing`, fix: `add ${kind}${like(examplesAt(path))}` };
}

/** An example of each alternative that has one. */
function examplesAt(path: Path): readonly unknown[] {
  return nodesAt(path)
    .map(exampleOf)
    .filter((each) => each !== undefined);
}

function like(examples: readonly unknown[]): string {
  const texts = new Set(examples.flatMap((each) => JSON.stringify(each) ?? []));
  return texts.size === 0 ? "" : `, like ${[...texts].join(" or ")}`;
}

function describeType({ expected, input, message: ways }: IssueOf<"invalid_type">, path: Path): Words {
  const kind = kinds[expected] ?? expected;
  const nodes = nodesAt(path);
  const [{ minimum, maximum, properties, required = [], additionalProperties } = {}] = nodes;
  if (input === undefined) return missing(path, kind);
  if (expected === "string" && typeof input === "number") {
    // Not the number: YAML has dropped leading zeros and digits beyond the sixteenth.
    const isPossible = !isInSecret(path) && nodes.some((node) => fits(node, `${input}`));
    const fix = ways.startsWith("write ")
      ? ways
      : `write it in quotes${isPossible ? ", digit by digit" : like(examplesAt(path))}`;
    return { message: "YAML read this as a number", fix };
  }
  if (expected === "number" || expected === "int") {
    const fix = `write ${kind} from ${minimum} to ${maximum}`;
    return { message: `this must be ${kind}, without quotes or unit`, fix };
  }
  if (Array.isArray(input) && typeof additionalProperties === "object") {
    const [name] = Object.keys(examplesAt(path)[0] ?? {});
    return { message: `this must be ${kind}`, fix: `write each name as a key, without "- ": { ${name}: … }` };
  }
  const message = input === null ? `${path.length === 0 ? "the file" : "this"} is empty` : `this must be ${kind}`;
  // A text in place of a mapping or a list may be a secret.
  const found = typeof input === "string" ? { found: "a text" } : {};
  if (input === null && required.length === 0 && properties !== undefined) {
    return { message, fix: `write its settings; possible keys: ${Object.keys(properties).join(", ")}` };
  }
  const own = nodes.map((node) => wrapped(input, node)).find((each) => each !== undefined);
  const examples = own === undefined ? examplesAt(path) : [own];
  const such = path.length === 0 ? ` with ${required.join(", ")}` : like(examples);
  return { message, fix: `write ${kind}${such}`, ...found };
}

function describeSize({ code, origin, input }: IssueOf<"too_small" | "too_big">, path: Path): Words {
  if (origin === "string" || origin === "array") return { message: "this is empty", fix: "write at least one" };
  const [{ minimum, maximum } = {}] = nodesAt(path);
  return outOfRange("number", input, code === "too_small", minimum, maximum);
}
