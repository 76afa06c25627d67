export const operationsPage = "docs/operations.md";

/** A command of the page, and what the page says that it prints. */
export interface Step {
  /** The heading above it. */
  readonly topic: string;
  /** As a shell takes it: of several lines where the page continues it with `> `. */
  readonly command: string;
  /** Without the last line's end. */
  readonly output: string;
}

/** The lines of a page: text that stays as it is, and steps. */
type Part = string | Step;

const prompt = "$ ";
const continued = "> ";

/**
 * Splits a page into its ```console blocks' steps and all the rest.
 * @throws Error for a block that does not begin with a command
 */
export function readPage(text: string): readonly Part[] {
  const parts: Part[] = [];
  let topic = "";
  let isInBlock = false;
  for (const line of text.split("\n")) {
    const last = parts.at(-1);
    if (!isInBlock || line === "```") {
      if (/^#+ /.test(line)) topic = line.replace(/^#+ /, "");
      isInBlock = line === "```console";
      parts.push(line);
    } else if (line.startsWith(prompt)) parts.push({ topic, command: line.slice(prompt.length), output: "" });
    else if (typeof last !== "object") throw new Error(`a console block begins with output: ${line}`);
    else if (line.startsWith(continued) && last.output === "")
      parts.splice(-1, 1, { ...last, command: `${last.command}\n${line.slice(continued.length)}` });
    else parts.splice(-1, 1, { ...last, output: last.output === "" ? line : `${last.output}\n${line}` });
  }
  return parts;
}

export function stepsOf(parts: readonly Part[]): readonly Step[] {
  return parts.filter((part) => typeof part === "object");
}

/** The page with other outputs: one for each step, in order. */
export function writePage(parts: readonly Part[], outputs: readonly string[]): string {
  const left = [...outputs];
  const format = (step: Step) => [formatCommand(step), left.shift() ?? ""].filter((text) => text !== "").join("\n");
  return parts.map((part) => (typeof part === "string" ? part : format(part))).join("\n");
}

function formatCommand({ command }: Step): string {
  return `${prompt}${command.replaceAll("\n", `\n${continued}`)}`;
}
