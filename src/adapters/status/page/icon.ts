/** A dot in the browser's tab: green, or red when an outcome is unknown. */
export function icon(isGood: boolean): string {
  const dot = `<circle cx="8" cy="8" r="7" fill="${isGood ? "#1f8a4c" : "#d92d20"}"/>`;
  return `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">${dot}</svg>`)}`;
}
