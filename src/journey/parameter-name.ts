const allowed = /^[A-Za-z0-9_.-]{1,128}$/;
const longestShown = 40;

/**
 * Whether a parameter may have this name. The string to sign is not injective (`{foo:"bar1"}` and `{foobar:"1"}` sign
 * alike, spec 5.2 step 4), so odd names are not let near it.
 */
export function isAllowedName(name: string): boolean {
  return allowed.test(name);
}

/** A name in quotes for a person to read: at most 40 of its characters, printable ASCII, the rest escaped. */
export function showName(name: string): string {
  const shown = JSON.stringify(name.slice(0, longestShown)).replace(/[^\x20-\x7e]/g, escapeUnit);
  return name.length > longestShown ? `${shown}…` : shown;
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
