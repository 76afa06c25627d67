import { allowedName } from "../signing/parameter-rules.ts";

const longestShown = 40;

/** Whether a parameter may have this name. */
export function isAllowedName(name: string): boolean {
  return allowedName.test(name);
}

/** A name in quotes for a person to read: at most 40 of its characters, printable ASCII, the rest escaped. */
export function showName(name: string): string {
  const shown = JSON.stringify(name.slice(0, longestShown)).replace(/[^\x20-\x7e]/g, escapeUnit);
  return name.length > longestShown ? `${shown}…` : shown;
}

/** A name for the log: as it is where it is allowed, else as `showName` writes it. */
export function nameInLog(name: string): string {
  return isAllowedName(name) ? name : showName(name);
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
