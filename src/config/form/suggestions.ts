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
 * What keeps a key from a place: nothing, its form or the choice of one of several mappings, the same key, or keys of another kind
 * of mapping.
 */
const obstacles = { none: 0, form: 1, taken: 2, other: 3 };

/** A place that the schema has for a key. */
interface Place {
  readonly path: Path;
  readonly node: SchemaNode;
  /** One of `obstacles`; more than these by the number of sections that would have to be added. */
  readonly obstacle: number;
  /** Only the name speaks for the place: the mapping is missing, and the value has another form. */
  readonly isDoubtful: boolean;
}

/**
 * The places of a document for a key: of those with the least obstacle, the nearest to its present place.
 * @param base the path of the document, if it is a part of the configuration; a key may belong outside of it
 */
export function placesFor(path: Path, value: unknown, document: unknown, base: Path) {
  const stray = { key: String(path.at(-1)), value, path };
  const around = base.slice(0, -1).reduceRight<unknown>((inner, part) => ({ [part]: inner }), {});
  const found = nodesAt(base).flatMap((node) => findPlaces(stray, node, document, base));
  const inside = nearestOf(found, path);
  const isOutside = inside.length === 0 && base.length > 0;
  const places = isOutside ? nearestOf(findPlaces(stray, jsonSchema(), around, []), path) : inside;
  const { obstacle = obstacles.form } = places[0] ?? {};
  const isFit = obstacle === obstacles.none && !isOutside;
  return { paths: places.map((place) => place.path), isFit, isTaken: isInTheWay(obstacle), isOutside };
}

function isInTheWay(obstacle: number): boolean {
  return obstacle === obstacles.taken || obstacle === obstacles.other;
}

/** The levels beyond which a key that the schema has in several places was hardly meant. */
const mostLevels = 5;

/** A key that the schema has in several places was hardly meant to stand aside of its present mapping. */
function nearestOf(found: readonly Place[], path: Path): readonly Place[] {
  const sharedOf = (place: Place) => place.path.findIndex((part, index) => part !== path[index]);
  const areSeveral = (places: readonly Place[]) => new Set(places.map(({ node }) => node)).size > 1;
  const isAlong = (place: Place) => sharedOf(place) === Math.min(place.path.length, path.length) - 1;
  const along = areSeveral(found) ? found.filter(isAlong) : found;
  const least = Math.min(...along.map(({ obstacle }) => obstacle));
  const possible = along.filter(({ obstacle }) => obstacle === least);
  const most = Math.max(...possible.map(sharedOf));
  const nearest = possible.filter((place) => sharedOf(place) === most);
  const isDoubtful =
    areSeveral(found) && nearest.some((place) => place.isDoubtful || place.path.length > path.length + mostLevels);
  return isDoubtful || (isInTheWay(least) && areSeveral(nearest)) ? [] : nearest;
}

/** A key that is not allowed where it is. */
interface Stray {
  readonly key: string;
  readonly value: unknown;
  readonly path: Path;
}

const knownNames = new WeakMap<SchemaNode, ReadonlySet<string>>();

/** The names of all settings below a node, collected once: there may be thousands of stray keys. */
function namesBelow(node: SchemaNode): ReadonlySet<string> {
  const { properties = {}, items, additionalProperties, anyOf = [] } = node;
  const below = [...Object.values(properties), ...anyOf, items, additionalProperties];
  const collect = () => below.flatMap((each) => (typeof each === "object" ? [...namesBelow(each)] : []));
  const names = knownNames.get(node) ?? new Set([...Object.keys(properties), ...collect()]);
  knownNames.set(node, names);
  return names;
}

/** @param way the obstacle on the way to this mapping or list */
function findPlaces(stray: Stray, node: SchemaNode, holder: unknown, at: Path, way = obstacles.none): Place[] {
  if (namesBelow(jsonSchema()).has(stray.key) && !namesBelow(node).has(stray.key)) return [];
  const { properties = {}, required = [], items, additionalProperties, propertyNames, anyOf } = node;
  const placeIn = (own: SchemaNode | undefined, least: number): Place[] => {
    const isOther = own?.enum !== undefined && typeof stray.value === "object";
    const isAround = [...at, stray.key].every((part, index) => part === stray.path[index]);
    // Every object has a `constructor`.
    if (typeof own !== "object" || isOther || isAround) return [];
    const isFit = fits(own, stray.value);
    const obstacle = Math.max(way, least, isFit ? obstacles.none : obstacles.form);
    return [{ path: [...at, stray.key], node: own, obstacle, isDoubtful: holder === undefined && !isFit }];
  };
  if (anyOf !== undefined) {
    const isAround = at.every((part, index) => part === stray.path[index]);
    return anyOf.flatMap((each) => {
      if (isOfKind(each, holder)) return findPlaces(stray, each, holder, at, way);
      return isAround ? [] : placeIn(each.properties?.[stray.key], obstacles.other);
    });
  }
  const given = holder === undefined ? (items ? [] : {}) : holder;
  // A key of a source, such as `{ file: … }`, belongs nowhere alone.
  const isMapping = typeof given === "object" && given !== null && properties["file"] === undefined;
  if (!isMapping || Array.isArray(given) !== (items !== undefined)) return [];
  const least = Object.hasOwn(given, stray.key) ? obstacles.taken : obstacles.none;
  const within = (child: SchemaNode, part: string | number, next: number) =>
    findPlaces(stray, child, (given as Record<string | number, unknown>)[part], [...at, part], next);
  const withSection = Math.max(way, obstacles.other) + 1;
  const each = items ?? additionalProperties;
  if (typeof each === "object") {
    const parts = partsOf(given, stray.path[at.length]);
    const isAdded = parts.length === 0 && node.default !== undefined && holder === undefined;
    const next = isAdded ? withSection : parts.length === 1 ? way : Math.max(way, obstacles.form);
    const examples = items ? [0] : (propertyNames?.examples ?? []).map(String);
    const below = (parts.length > 0 ? parts : examples).flatMap((part) => within(each, part, next));
    return hasOwnForm(propertyNames, stray.key) ? [...placeIn(each, least), ...below] : below;
  }
  const { children: _, ...others } = properties;
  const below = Object.entries(others).flatMap(([name, child]) => {
    const isThere = Object.hasOwn(given, name) || child.default !== undefined;
    const added = required.includes(name) ? Math.max(way, obstacles.form) : withSection;
    return within(child, name, isThere ? way : added);
  });
  return [...placeIn(properties[stray.key], least), ...below];
}

/** Thousands of sites may have the same mistake. */
const mostParts = 4;

/** The parts of a list or mapping in which a place is looked for: the one around the present place, or the first ones. */
function partsOf(given: object, wanted: string | number = ""): (string | number)[] {
  if (Object.hasOwn(given, wanted)) return [wanted];
  return (Array.isArray(given) ? [...given.keys()] : Object.keys(given)).slice(0, mostParts);
}

/** Whether a mapping has no key that only another alternative has. */
function isOfKind({ properties }: SchemaNode, holder: unknown = {}): boolean {
  return properties === undefined || Object.keys(holder ?? {}).every((key) => Object.hasOwn(properties, key));
}

/** Whether the names of a mapping have a form that few words have, and this one has it: `S1000000001`. */
export function hasOwnForm({ pattern }: SchemaNode = {}, name: string): boolean {
  return pattern !== undefined && new RegExp(pattern).test(name) && !new RegExp(pattern).test("word");
}
