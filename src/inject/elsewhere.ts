import { type Document, isAlias, isMap, isScalar, isSeq, type Pair, type YAMLMap } from "yaml";

/** Whether an alias or a merge key (`<<`) brings a key's value from another place of the document. */
export function comesFromElsewhere(document: Document, map: YAMLMap, key: string): boolean {
  if (map.has(key)) return isAlias(map.get(key));
  const sources = map.items.filter(isMerge).flatMap(({ value }) => {
    const source = resolve(document, value);
    return isSeq(source) ? source.items.map((item) => resolve(document, item)) : [source];
  });
  return sources.some((source) => isMap(source) && (source.has(key) || comesFromElsewhere(document, source, key)));
}

/** The yaml package reads `<<` as a symbol. */
function isMerge({ key }: Pair): boolean {
  return isScalar(key) && typeof key.value === "symbol";
}

function resolve(document: Document, node: unknown): unknown {
  return isAlias(node) ? node.resolve(document) : node;
}
