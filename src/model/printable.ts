/**
 * Foreign text as a log line may show it: printable ASCII, every other character a question mark, and no longer than
 * the bound, where an ellipsis stands for the rest.
 * @param longest in characters
 */
export function printable(text: string, longest: number): string {
  const isCut = text.length > longest;
  const shown = (isCut ? text.slice(0, longest) : text).replace(/[^\x20-\x7e]/g, "?");
  return isCut ? `${shown}…` : shown;
}
