import * as z from "zod";
import { durationPattern } from "../../model/clock.ts";
import type { Path } from "../diagnostics.ts";
import { jsonSchema, nodesAt, type SchemaNode } from "./schema.ts";

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
 * The places of a document for a key, nearest to its present place first: those that take it as it is, else those that take it in
 * another form, or are in sections that are not there yet. None has it already. Of several mappings of one kind a fit place is in the
 * one around the present place, or in the only one.
 * @param base the path of the document, if it is a part of the configuration; a key may belong outside of it
 */
export function placesFor(path: Path, value: unknown, document: unknown, base: Path) {
  const stray = { key: String(path.at(-1)), value, path };
  const around = base.slice(0, -1).reduceRight<unknown>((inner, part) => ({ [part]: inner }), {});
  const within = (isFit: boolean) =>
    nodesAt(base).flatMap((node) => findPlaces({ ...stray, isFit }, node, document, base));
  const fit = within(true);
  const inside = fit.length > 0 ? fit : within(false);
  const isOutside = inside.length === 0 && base.length > 0;
  const found = isOutside ? findPlaces({ ...stray, isFit: false }, jsonSchema(), around, []) : inside;
  const sharedOf = (place: Path) => place.findIndex((part, index) => part !== path[index]);
  const most = Math.max(...found.map(sharedOf));
  return { paths: found.filter((place) => sharedOf(place) === most), areFit: fit.length > 0, isOutside };
}

/** A key that is not allowed where it is. */
interface Stray {
  readonly key: string;
  readonly value: unknown;
  readonly path: Path;
  readonly isFit: boolean;
}

function findPlaces(stray: Stray, node: SchemaNode, holder: unknown, at: Path): Path[] {
  const { properties, additionalProperties, propertyNames, items, anyOf } = node;
  if (anyOf !== undefined)
    return anyOf.filter((each) => isOfKind(each, holder)).flatMap((each) => findPlaces(stray, each, holder, at));
  const isMissing = holder === undefined && (node.default !== undefined || !stray.isFit);
  const given = isMissing ? {} : holder;
  // A key of a source, such as `{ file: … }`, belongs nowhere alone.
  const isMapping = typeof given === "object" && given !== null && properties?.["file"] === undefined;
  if (!isMapping || Array.isArray(given) !== (items !== undefined)) return [];
  const isOther = ({ enum: words }: SchemaNode) => words !== undefined && typeof stray.value === "object";
  const isTaken = (own: SchemaNode) =>
    Object.hasOwn(given, stray.key) || isOther(own) || (stray.isFit && !fits(own, stray.value));
  const within = (child: SchemaNode, part: string | number) =>
    findPlaces(stray, child, (given as Record<string | number, unknown>)[part], [...at, part]);
  const each = items ?? additionalProperties;
  if (typeof each === "object") {
    const below = pick(given, stray, stray.path[at.length]).flatMap((part) => within(each, part));
    return hasOwnForm(propertyNames, stray.key) && !isTaken(each) ? [[...at, stray.key], ...below] : below;
  }
  const { children: _, ...others } = properties ?? {};
  const below = Object.entries(others).flatMap(([name, child]) => within(child, name));
  const own = properties?.[stray.key];
  return own !== undefined && !isTaken(own) ? [[...at, stray.key], ...below] : below;
}

/** Whether a mapping has no key that only another alternative has. */
function isOfKind({ properties }: SchemaNode, holder: unknown = {}): boolean {
  return properties === undefined || Object.keys(holder ?? {}).every((key) => Object.hasOwn(properties, key));
}

/** Thousands of sites may have the same mistake. */
const mostParts = 4;

/** The parts of a list or mapping in which a place is looked for. */
function pick(given: object, { isFit }: Stray, wanted: string | number = ""): (string | number)[] {
  if (Object.hasOwn(given, wanted)) return [wanted];
  const parts = Array.isArray(given) ? [...given.keys()] : Object.keys(given);
  return isFit && parts.length > 1 ? [] : parts.slice(0, mostParts);
}

/** Whether the names of a mapping have a form that few words have, and this one has it: `S1000000001`. */
export function hasOwnForm({ pattern }: SchemaNode = {}, name: string): boolean {
  return pattern !== undefined && new RegExp(pattern).test(name) && !new RegExp(pattern).test("word");
}
