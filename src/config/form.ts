import { type Diagnostics, formatPath, type Path } from "./diagnostics.ts";
import { configSchema, type RawConfig } from "./schema.ts";
import { describeIssues, type Fault, isSecretAt } from "./schema-issues.ts";

/** Reports every problem of form; returns the file's content, typed and with defaults, where there is none. */
export function checkForm(value: unknown, diagnostics: Diagnostics): RawConfig | undefined {
  const placeholders = findPlaceholders(value);
  const parsed = configSchema.safeParse(value, { reportInput: true });
  const issues = parsed.success ? [] : describeIssues(parsed.error.issues);
  // What the schema has against a placeholder's text follows from the placeholder.
  const others = issues.filter((issue) => !placeholders.some((placeholder) => isAbout(issue, placeholder)));
  for (const { path, message, fix, found } of [...placeholders, ...others]) {
    diagnostics.report(path, message, fix, found);
  }
  return parsed.success && placeholders.length === 0 ? parsed.data : undefined;
}

/** `${NAME}`, `${NAME:-…}` and `$(NAME)`, as shells, Compose, Spring and Kubernetes replace them. */
const placeholder = /\$(?:\{\s*([A-Za-z_][A-Za-z0-9_.]*)|\(\s*([A-Za-z_][A-Za-z0-9_]*)\s*\))/;
/** `{ env: $NAME }`. */
const dollarName = /^\$\{?\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}?$/;

/**
 * Keys and values that were written to be replaced by something else. Nothing is: the text would be taken as it stands.
 * Only the variable's name is shown, since a default behind it may be a secret.
 */
function findPlaceholders(value: unknown, path: Path = []): Fault[] {
  if (typeof value === "string") return describePlaceholder(value, path);
  if (Array.isArray(value)) return value.flatMap((item, index) => findPlaceholders(item, [...path, index]));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...describePlaceholder(key, [...path, key]),
    ...findPlaceholders(inner, [...path, key]),
  ]);
}

function describePlaceholder(text: string, path: Path): Fault[] {
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

/** Whether a fault is about the placeholder's value, or about the mapping that holds it. */
function isAbout({ path }: Fault, { path: at }: Fault): boolean {
  const [own, text] = [formatPath(at), formatPath(path)];
  return text === own || text.startsWith(`${own}.`) || text === formatPath(at.slice(0, -1));
}
