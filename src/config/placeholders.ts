import { type Diagnostic, formatPath, type Path } from "./problem.ts";

/** `${NAME}`, `${NAME:-…}` and `$(NAME)`, as shells, Compose, Spring and Kubernetes replace them. */
const placeholder = /\$(?:\{\s*([A-Za-z_][A-Za-z0-9_.]*)|\(\s*([A-Za-z_][A-Za-z0-9_]*)\s*\))/;
/** `{ env: $NAME }`. */
const dollarName = /^\$\{?\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}?$/;

/** Keys whose values come from outside, each in its own way. */
const secretKeys = /^(clientSecret|secret|password|tokens|encryptionKeys)$/;

/**
 * What was written to be replaced by something else, in keys and values. Nothing is: the text would be taken as it stands.
 * Only the variable's name is shown, since a default behind it may be a secret.
 */
export function findPlaceholders(value: unknown, path: Path = []): Diagnostic[] {
  if (typeof value === "string") return describe(value, path);
  if (Array.isArray(value)) return value.flatMap((item, index) => findPlaceholders(item, [...path, index]));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...describe(key, [...path, key]),
    ...findPlaceholders(inner, [...path, key]),
  ]);
}

/** Whether a place is about the very value, or about the mapping that the value is alone in. */
export function isAbout(path: string, { path: place }: Diagnostic): boolean {
  const own = formatPath(place);
  return path === own || path.startsWith(`${own}.`) || path === formatPath(place.slice(0, -1));
}

function describe(text: string, path: Path): Diagnostic[] {
  if (path.at(-1) === "env") {
    const [, name] = dollarName.exec(text) ?? [];
    if (name === undefined) return [];
    const message = "the name of an environment variable is written without $";
    return [{ path, message, fix: `write { env: ${name} }`, found: "hidden" }];
  }
  const [, inBraces, inParentheses] = placeholder.exec(text) ?? [];
  const name = inBraces ?? inParentheses;
  if (name === undefined) return [];
  const key = path.findLast((part) => typeof part === "string");
  const fix = secretKeys.test(String(key))
    ? `write { env: ${name} } in its place, or better { file: /path }`
    : "write the value itself, or let a tool such as envsubst write this file; only secrets are named by { file } or { env }";
  const found = inBraces === undefined ? `$(${name})` : `\${${name}}`;
  return [{ path, message: "nothing is expanded in this file", fix, found }];
}
