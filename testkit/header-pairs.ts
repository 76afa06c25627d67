/** Header lines as pairs, from the flat list that Node and the simulator use; names in lower case. */
export function headerPairs(flat: readonly string[]): (readonly [name: string, value: string])[] {
  return flat.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), flat[at + 1] ?? ""] as const] : []));
}
