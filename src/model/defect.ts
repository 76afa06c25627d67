/** A programming error without its message, which may quote foreign text: its class and its stack frames. Safe to log. */
export function describeDefect(error: unknown): string {
  if (!(error instanceof Error)) return `thrown ${typeof error}`;
  return [error.constructor.name, ...framesOf(error)].join(" ");
}

/** An error's code, such as ECONNREFUSED or CERT_HAS_EXPIRED; undefined if it has none. Safe to log. */
export function errorCodeOf(error: unknown): string | undefined {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? code : undefined;
}

/** A warning of the process without its message: its name, its code and its stack frames. Safe to log. */
export function describeWarning(warning: NodeJS.ErrnoException): string {
  const { name, code } = warning;
  const isWord = (text = "") => /^\w{1,64}$/.test(text);
  return [isWord(name) ? name : "Warning", ...(isWord(code) ? [code] : []), ...framesOf(warning)].join(" ");
}

function framesOf({ stack = "", message }: Error): string[] {
  const frames = stack
    .slice(stack.indexOf(message) + message.length)
    .split("\n")
    .filter((line) => /^\s+at /.test(line));
  return frames.slice(0, 8).map((line) => line.trim());
}

/**
 * Foreign text for a log line: printable ASCII, with a question mark for every other character. An ellipsis replaces the text
 * beyond the bound.
 * @param longest in characters
 */
export function printable(text: string, longest: number): string {
  const isCut = text.length > longest;
  const shown = (isCut ? text.slice(0, longest) : text).replace(/[^\x20-\x7e]/g, "?");
  return isCut ? `${shown}…` : shown;
}
