/** The first names of a list: `a, b, c and 4 more`. */
export function listNames(names: readonly string[], most = 3): string {
  const more = names.length > most ? ` and ${names.length - most} more` : "";
  return `${names.slice(0, most).join(", ")}${more}`;
}

/**
 * The name that was probably meant; undefined if none is near. One character may differ, or at most every third if the first is the
 * same: few misspell the beginning.
 */
export function nearestName(given: string, names: Iterable<string>): string | undefined {
  const all = [...names];
  const begin = given.slice(0, 1).toLowerCase();
  const alike = all.filter((name) => name.toLowerCase().startsWith(begin));
  return nearestWithin(given, all, 1) ?? nearestWithin(given, alike, Math.floor(given.length / 3));
}

/**
 * The only name that begins or ends with the given one, or that the given one begins with: `ca` means `caFile`, `tokenUrl` means
 * `token`. Two letters must be a word of the name.
 */
export function onlyNameWith(given: string, names: readonly string[]): string | undefined {
  const key = given.replace(/^max|[_-]/g, "").toLowerCase();
  const [found, ...more] = names.filter((name) => {
    const whole = name.toLowerCase();
    const words = name.split(/(?=[A-Z])/);
    if (key.length < 3) return [words[0], words.at(-1)].some((word) => word?.toLowerCase() === key);
    return whole.startsWith(key) || whole.endsWith(key) || (whole.length > 2 && key.startsWith(whole));
  });
  return more.length === 0 ? found : undefined;
}

/**
 * The nearest of the names, ignoring case.
 * @param mostEdits characters that may be missing, added or changed; names with more edits do not count
 */
export function nearestWithin(given: string, names: Iterable<string>, mostEdits: number): string | undefined {
  const [nearest] = [...names]
    // The lengths alone exclude most names, so a long text takes little time.
    .filter((name) => Math.abs(name.length - given.length) <= mostEdits)
    .map((name) => ({ name, distance: editDistance(given.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  return nearest !== undefined && nearest.distance <= mostEdits ? nearest.name : undefined;
}

/** Levenshtein's, row by row. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substitute = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitute, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
