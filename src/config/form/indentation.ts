import type { Path } from "../diagnostics.ts";
import { nodesAt } from "./schema.ts";
import { hasOwnForm } from "./suggestions.ts";

/** A key that is indented too little: it is not allowed where it is, but in the mapping before it. */
interface Outside {
  readonly path: Path;
  readonly holder: Path;
  /** The key, and those after it that belong there too. */
  readonly keys: readonly string[];
}

/** The mapping before may be empty; or the keys are taken for names beside it, as `sites` is for an environment. */
export function findOutside(value: unknown, at: Path): Outside[] {
  if (typeof value !== "object" || value === null) return [];
  const entries = Object.entries(value);
  const found = entries.flatMap(([key, inner]) =>
    findOutside(inner, [...at, Array.isArray(value) ? Number(key) : key]),
  );
  if (Array.isArray(value)) return found;
  const isOfNames = nodesAt(at).some(({ additionalProperties }) => typeof additionalProperties === "object");
  let last = -1;
  for (const [index, [key, inner]] of entries.entries()) {
    const isMapping = inner === null || (isOfNames && typeof inner === "object" && !Array.isArray(inner));
    if (index <= last || !isMapping) continue;
    const holder = [...at, key];
    const keys: string[] = [];
    for (let next = index + 1; next < entries.length; next += 1) {
      const [name = "", own] = entries[next] ?? [];
      if (takes(at, name, own) || !takes(holder, name, own) || Object.hasOwn(inner ?? {}, name)) break;
      keys.push(name);
      last = next;
    }
    const [first] = keys;
    if (first !== undefined) found.push({ path: [...at, first], holder, keys });
  }
  return found;
}

/** Whether the mapping has such a key. A name without a form of its own counts by the keys below it. */
function takes(holder: Path, key: string, value: unknown): boolean {
  return nodesAt(holder).some(({ properties = {}, additionalProperties, propertyNames }) => {
    if (typeof additionalProperties !== "object") return Object.hasOwn(properties, key);
    const below = nodesAt([...holder, key]).flatMap((node) => Object.keys(node.properties ?? {}));
    return hasOwnForm(propertyNames, key) || Object.keys(Object(value)).some((name) => below.includes(name));
  });
}
