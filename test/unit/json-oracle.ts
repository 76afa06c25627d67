import type { FailureCode } from "../../src/model/errors.ts";

/** What reading a text must come to: the refusal's code, or the parameters as [name, kind, text]. */
export type Expected = FailureCode | readonly (readonly [name: string, kind: string, text: string])[];

/**
 * Says it with `JSON.parse` and a regular expression over what `JSON.parse` has accepted: another way than the one under
 * test, too slow and too trusting for the product. Nothing here nests deeper than the product's limit.
 */
export function expectReading(text: string): Expected {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "body_not_json";
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "body_not_json";
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s"[\]{}:,]+/g) ?? [];
  if (tokens.some((token) => token.startsWith('"') && /\p{Surrogate}/u.test(JSON.parse(token)))) return "body_not_json";
  return judge(topLevelMembers(tokens));
}

/** Each name with its value's first token. */
function topLevelMembers(tokens: readonly string[]): [name: string, first: string][] {
  const members: [string, string][] = [];
  let depth = 0;
  tokens.forEach((token, index) => {
    if (token === "{" || token === "[") depth += 1;
    if (token === "}" || token === "]") depth -= 1;
    if (depth === 1 && token === ":") members.push([JSON.parse(tokens[index - 1] ?? ""), tokens[index + 1] ?? ""]);
  });
  return members;
}

function judge(members: readonly [name: string, first: string][]): Expected {
  const names = new Set<string>();
  for (const [name, first] of members) {
    if (name === "" || name.length > 256 || [...name].some((c) => !allowed.includes(c))) return "name_not_allowed";
    if (names.has(name)) return "duplicate_parameter";
    names.add(name);
    if (first === "null") return "null_value";
    if (first === "{" || first === "[") return "nested_value";
  }
  return members.map(([name, first]) => {
    const value: unknown = JSON.parse(first);
    return [name, typeof value, typeof value === "string" ? value : first];
  });
}

const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
