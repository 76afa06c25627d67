/**
 * The string to sign (spec 5.2 steps 1, 3 and 4): parameters sorted by name, each name followed by its value, nothing
 * between. It signs what it is given; which names and values are allowed is checked elsewhere.
 * @param exempt names that are not signed
 */
export function stringToSign(
  parameters: Iterable<readonly [name: string, value: string]>,
  exempt: ReadonlySet<string>,
): string {
  const signed = Array.from(parameters).filter(([name]) => !exempt.has(name));
  // By bytes, since names are ASCII and stand once. Never `localeCompare`: its order is a language's, with `a` before `B`.
  signed.sort(([a], [b]) => (a < b ? -1 : 1));
  return signed.flat().join("");
}
