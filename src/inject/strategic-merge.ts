import { isAlias, isMap, isScalar, isSeq, Pair, YAMLMap, YAMLSeq } from "yaml";

/**
 * Every scalar is a string and is written as it was read: Kubernetes takes YAML 1.1, where 0440 is 288 and `on` is true.
 * The merge key `<<` is of YAML 1.1 too.
 */
export const asWritten = { schema: "failsafe", merge: true } as const;

/** The same for what code makes: it has no aliases. */
export const unshared = { ...asWritten, aliasDuplicateObjects: false } as const;

/** The items of a list of named items, such as containers, volumes and variables. */
export function itemsIn(map: unknown, list: string): readonly YAMLMap[] {
  const items = isMap(map) ? map.get(list) : undefined;
  return isSeq(items) ? items.items.filter(isMap) : [];
}

/**
 * Lists whose new items come first: the application's init containers can call the sidecar, and Kubernetes expands `$(NAME)`
 * only in the variables that come after NAME.
 */
const firstIn = ["initContainers", "env"];

/**
 * Merges a patch into a mapping, as `kubectl patch` does: null removes a field, the items of lists are merged by their names,
 * and an item's `$patch` says whether to `replace` or to `delete` it as a whole. What comes by an alias or a merge key stays,
 * since it is another place's too.
 * @param resolved what the mapping means: with what its aliases and merge keys stand for in their place
 */
export function mergePatch(target: YAMLMap, resolved: YAMLMap, patch: YAMLMap): void {
  for (const { key, value } of patch.items) {
    const field = String(key);
    if (isSeq(value)) mergeList(target, resolved, field, itemsIn(patch, field));
    else if (field === "$patch" || isAlias(target.get(field))) continue;
    else if (isScalar(value) && value.value === null) target.delete(field);
    // The string alone, so that the comments beside a former one stay.
    else target.set(field, isScalar(value) ? value.value : value);
  }
}

function mergeList(target: YAMLMap, resolved: YAMLMap, field: string, patches: readonly YAMLMap[]): void {
  const present = target.get(field);
  const list = isSeq(present) && present.items.length > 0 ? present : new YAMLSeq();
  const resolvedItems = itemsIn(resolved, field);
  // A new list would hide the items that come from elsewhere.
  if (list !== present && resolvedItems.length > 0) return;
  const merged = new Set<unknown>();
  const kept = list.items.filter((item, index) => {
    const meant = resolvedItems[index];
    if (!isMap(item) || meant === undefined) return true;
    const name = item.get("name") ?? meant.get("name");
    const patch = patches.find((each) => each.get("name") === name);
    if (patch === undefined || patch.has("$patch")) return patch === undefined;
    mergePatch(item, meant, patch);
    merged.add(patch);
    return true;
  });
  const added = patches.filter((patch) => !merged.has(patch) && patch.get("$patch") !== "delete").map(createItem);
  const isFirst = firstIn.includes(field);
  const items = isFirst ? [...added, ...kept] : [...kept, ...added];
  if (list === present && items.length === 0) target.delete(field);
  if (list !== present && items.length > 0) {
    target.delete(field);
    const next = isFirst ? target.items.findIndex(({ key }) => String(key) === "containers") : -1;
    target.items.splice(next === -1 ? target.items.length : next, 0, new Pair(field, list));
  }
  list.items = items;
}

function createItem(patch: YAMLMap): YAMLMap {
  const item = new YAMLMap();
  mergePatch(item, item, patch);
  return item;
}
