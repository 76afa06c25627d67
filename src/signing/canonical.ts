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
  return signed
    .sort(([a], [b]) => compareBytes(a, b))
    .flat()
    .join("");
}

/** Orders like the UTF-8 bytes do. Never `localeCompare`: its order is a language's and puts `a` before `B`. */
function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const difference = rank(a.charCodeAt(at)) - rank(b.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** UTF-8 sorts by code point, so surrogates, which stand for U+10000 and beyond, come after U+E000 to U+FFFF. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
