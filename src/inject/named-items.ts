import { type Document, isMap, isPair, isScalar, isSeq, parseDocument, type YAMLMap, YAMLSeq } from "yaml";
import { comesFromElsewhere } from "./elsewhere.ts";

// Lists whose items have names, as those of a pod: containers, volumes, env.

/**
 * Every scalar is a string and is written as it was read: Kubernetes takes YAML 1.1, where 0440 is 288 and `on` is true,
 * so nobody here may read them as something else. The merge key `<<` is of YAML 1.1 too.
 */
export const asWritten = { schema: "failsafe", merge: true } as const;

export function parseItem(text: string): YAMLMap {
  const { contents } = parseDocument(text, asWritten);
  if (!isMap(contents)) throw new TypeError("an item is a mapping");
  return contents;
}

export function itemsOf(map: YAMLMap, list: string): readonly YAMLMap[] {
  const found = map.get(list);
  return isSeq(found) ? found.items.filter((item) => isMap(item)) : [];
}

/** Whether there was one. A list that is empty then goes too. */
export function removeItem(map: YAMLMap, list: string, name: string): boolean {
  const found = map.get(list);
  if (!isSeq(found)) return false;
  const kept = found.items.filter((item) => !(isMap(item) && item.get("name") === name));
  const isThere = kept.length < found.items.length;
  found.items = kept;
  if (isThere && kept.length === 0) map.delete(list);
  return isThere;
}

/**
 * The list to put an item into, made where there is none, before the key `before` if that is given. None where it comes from
 * elsewhere: it is put into there or nowhere, since a new list would hide that one.
 */
export function listIn(document: Document, map: YAMLMap, list: string, before?: string): YAMLSeq | undefined {
  const found = map.get(list);
  if (isSeq(found) && found.items.length > 0) return found;
  if (comesFromElsewhere(document, map, list)) return undefined;
  const made = new YAMLSeq();
  map.delete(list);
  map.set(list, made);
  const next = map.items.findIndex(({ key }) => (isScalar(key) ? key.value : key) === before);
  const pair = map.items.pop();
  if (isPair(pair)) map.items.splice(next === -1 ? map.items.length : next, 0, pair);
  return made;
}
