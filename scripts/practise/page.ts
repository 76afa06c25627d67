export const practisePage = "simulator/practise.md";

/** A command of the page, and its output as the page shows it. */
export interface Step {
  /** The heading above it. */
  readonly topic: string;
  /** As typed into a shell: of several lines if the page continues it with `> `. */
  readonly command: string;
  /** Without the last newline. */
  readonly output: string;
}

/** The lines of a page: text that stays as it is, and steps. */
type Part = string | Step;

const prompt = "$ ";
const continued = "> ";

/**
 * Splits a page into the steps of its ```console blocks, and other text.
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

/** Values that may differ between two good runs, and their replacements. */
const differences: readonly { readonly pattern: RegExp; readonly shown: string }[] = [
  { pattern: /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, shown: "<time>" },
  { pattern: /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, shown: "<request id>" },
  // The hash of the configuration covers the ports and the folder.
  { pattern: /(?<="(?:hash|previousHash)":")[0-9a-f]{12}(?=")/g, shown: "<hash>" },
  { pattern: /(?<="\w+Ms":)\d+(?:\.\d+)?/g, shown: "<ms>" },
  // A time of 0 ms is not printed.
  { pattern: / \(\d+ ms\)$/gm, shown: "" },
  { pattern: /(?<= (?:in|another) )\d+ s\b/g, shown: "<seconds>" },
  // The rest of a token life of 24 h.
  { pattern: /(?<= another )2[34] h\b/g, shown: "<hours>" },
];

/** The output without the values that differ between two good runs. */
export function normalise(output: string): string {
  return differences.reduce((text, { pattern, shown }) => text.replace(pattern, shown), output);
}

/** Names of the page, each with its replacement in a real run: ports, and the folder. */
export type Names = ReadonlyMap<string, string>;

/** The ports of the page. A run uses other ports if these are taken. */
export const pagePorts = {
  listener: "7411",
  admin: "7412",
  status: "7413",
  api: "7421",
  login: "7422",
  redis: "6390",
  secondListener: "7511",
  secondAdmin: "7512",
  secondStatus: "7513",
} as const;

/** The folder in which the page's reader practises. */
export const pageFolder = "/home/you/practice";

/** A command of the page, for the run: all names in one pass, so that nothing is replaced twice; whole numbers only. */
export function toRun(text: string, names: Names): string {
  const alternatives = [...names.keys()].map((name) =>
    /^\d+$/.test(name) ? `(?<!\\d)${name}(?!\\d)` : name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"),
  );
  return text.replace(new RegExp(alternatives.join("|"), "g"), (name) => names.get(name) ?? name);
}

/** The run's output, for the page: as a terminal shows it. */
export function toPage(output: string, names: Names): string {
  const shown = output.replaceAll("\r\n", "\n").trimEnd();
  return toRun(shown, new Map([...names].map(([ofPage, ofRun]) => [ofRun, ofPage])));
}
