import { isMap, isPair, isScalar, isSeq, parseDocument, type YAMLMap, YAMLSeq } from "yaml";

// Lists whose items have names, as those of a pod: containers, volumes, env.

/**
 * Every scalar is a string and is written as it was read: Kubernetes takes YAML 1.1, where 0440 is 288 and `on` is true,
 * so nobody here may read them as something else.
 */
export const asWritten = { schema: "failsafe" } as const;

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

/** Puts an item into a list, which is made where there is none, before the key `before` if that is given. */
export function putItem(map: YAMLMap, list: string, item: YAMLMap, place: "first" | "last", before?: string): void {
  const seq = listOf(map, list, before);
  if (place === "last") seq.items.push(item);
  else seq.items.unshift(item);
}

function listOf(map: YAMLMap, list: string, before?: string): YAMLSeq {
  const found = map.get(list);
  if (isSeq(found) && found.items.length > 0) return found;
  const made = new YAMLSeq();
  map.delete(list);
  map.set(list, made);
  const next = map.items.findIndex(({ key }) => (isScalar(key) ? key.value : key) === before);
  const pair = map.items.pop();
  if (isPair(pair)) map.items.splice(next === -1 ? map.items.length : next, 0, pair);
  return made;
}
