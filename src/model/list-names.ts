/** The first of some names: `a, b, c and 4 more`. */
export function listNames(names: readonly string[], most = 3): string {
  const more = names.length > most ? ` and ${names.length - most} more` : "";
  return `${names.slice(0, most).join(", ")}${more}`;
}
