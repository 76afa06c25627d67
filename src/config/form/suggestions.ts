import * as z from "zod";
import { durationPattern } from "../../model/clock.ts";
import type { Path } from "../diagnostics.ts";
import { nodesAt, type SchemaNode } from "./schema.ts";

/** An example from the schema, or one made of the required parts; undefined if there is none. */
export function exampleOf(node: SchemaNode): unknown {
  const { examples = node.enum ?? [], anyOf = [], properties = {}, required = [], items, minimum } = node;
  const { additionalProperties, propertyNames } = node;
  if (typeof node.default !== "object" && node.default !== undefined) return node.default;
  if (examples.length > 0) return examples[0];
  if (anyOf.length > 0) return anyOf.map(exampleOf).find((each) => each !== undefined);
  if (items !== undefined) return [exampleOf(items)];
  if (typeof additionalProperties === "object") {
    return { [String(propertyNames?.examples?.[0])]: exampleOf(additionalProperties) };
  }
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1);
  if (names.length === 0) return minimum;
  return Object.fromEntries(names.map((name) => [name, exampleOf(properties[name] ?? {})]));
}

/**
 * What was probably meant by a single value in place of a list or a mapping: `{ level: debug }` by `debug`. A text is taken only if it
 * has a form of its own: another may be a secret.
 */
export function wrapped(value: unknown, { items, properties = {} }: SchemaNode): unknown {
  if (typeof value === "object") return undefined;
  if (items !== undefined) {
    const hasForm = ({ type, pattern, enum: all }: SchemaNode) => type !== "string" || (pattern ?? all) !== undefined;
    return (items.anyOf ?? [items]).some((item) => hasForm(item) && fits(item, value)) ? [value] : undefined;
  }
  const hasForm = ({ pattern, enum: all }: SchemaNode) => all !== undefined || pattern === durationPattern.source;
  const [name] = Object.entries(properties).find(([, node]) => hasForm(node) && fits(node, value)) ?? [];
  return name === undefined ? undefined : { [name]: value };
}

const readers = new WeakMap<SchemaNode, z.ZodType>();

/** Whether the value has the form that the schema demands. */
export function fits(node: SchemaNode, value: unknown): boolean {
  const reader = readers.get(node) ?? z.fromJSONSchema(node as z.core.JSONSchema.JSONSchema);
  readers.set(node, reader);
  return reader.safeParse(value).success;
}

/**
 * The places of a document to which a key with this value can be moved, nearest to its present place first: those that take it
 * in this form, and do not have it. Of several mappings of one kind only the one around the present place counts, or the only one.
 * @param base the path of the document, if it is a part of the configuration
 */
export function placesFor(path: Path, value: unknown, document: unknown, base: Path): Path[] {
  const key = String(path.at(-1));
  const found = nodesAt(base).flatMap((node) => findPlaces({ key, value, path }, node, document, base));
  const sharedOf = (place: Path) => place.findIndex((part, index) => part !== path[index]);
  const most = Math.max(...found.map(sharedOf));
  return found.filter((place) => sharedOf(place) === most);
}

/** A key that is not allowed where it is. */
interface Stray {
  readonly key: string;
  readonly value: unknown;
  readonly path: Path;
}

function findPlaces(stray: Stray, node: SchemaNode, holder: unknown, at: Path): Path[] {
  const { properties, additionalProperties, items, anyOf } = node;
  if (anyOf !== undefined) return anyOf.flatMap((each) => findPlaces(stray, each, holder, at));
  const isMissing = holder === undefined && node.default !== undefined;
  const given = isMissing ? {} : holder;
  if (typeof given !== "object" || given === null || Array.isArray(given) !== (items !== undefined)) return [];
  const within = (child: SchemaNode, part: string | number) =>
    findPlaces(stray, child, (given as Record<string | number, unknown>)[part], [...at, part]);
  const each = items ?? additionalProperties;
  if (typeof each === "object") return pick(given, stray.path[at.length]).flatMap((part) => within(each, part));
  const { children: _, ...others } = properties ?? {};
  const below = Object.entries(others).flatMap(([name, child]) => within(child, name));
  const own = properties?.[stray.key];
  const isFree =
    properties !== undefined &&
    own !== undefined &&
    !Object.hasOwn(given, stray.key) &&
    Object.keys(given).every((key) => Object.hasOwn(properties, key));
  return isFree && fits(own, stray.value) ? [[...at, stray.key], ...below] : below;
}

/** A part of a path, if a list or mapping has it, or the only one that it has. */
function pick(given: object, wanted: string | number = ""): (string | number)[] {
  if (Object.hasOwn(given, wanted)) return [wanted];
  const keys = Object.keys(given);
  if (keys.length !== 1) return [];
  return Array.isArray(given) ? [0] : keys;
}
