/**
 * A programming error without its message, which may quote foreign text: the class and where it was thrown. Safe to
 * log.
 */
export function describeDefect(error: unknown): string {
  if (!(error instanceof Error)) return `thrown ${typeof error}`;
  const { stack = "", message } = error;
  const frames = stack
    .slice(stack.indexOf(message) + message.length)
    .split("\n")
    .filter((line) => /^\s+at /.test(line));
  return [error.constructor.name, ...frames.slice(0, 8).map((line) => line.trim())].join(" ");
}
