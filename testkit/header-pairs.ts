/** Header lines as Node and the simulator have them, in one flat list, as pairs; names in lower case. */
export function headerPairs(flat: readonly string[]): (readonly [name: string, value: string])[] {
  return flat.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), flat[at + 1] ?? ""] as const] : []));
}
