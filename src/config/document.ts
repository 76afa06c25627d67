import { type Document, isCollection, isNode, LineCounter, parseDocument } from "yaml";
import { type Finding, formatPath, type Path, type Problem } from "./problem.ts";

/** A YAML file that can say where everything stands. */
export interface SourceDocument {
  /** As plain values; undefined where the YAML itself is wrong. */
  readonly value: unknown;
  readonly yamlProblems: readonly Problem[];
  /** Adds line, column and what was found. */
  locate(finding: Finding): Problem;
}

const longestShown = 60;

/** YAML 1.2, one document; a key given twice is an error, as are more than 100 aliases. */
export function readDocument(text: string): SourceDocument {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, uniqueKeys: true, prettyErrors: false });
  const yamlProblems = document.errors.map(({ message, pos }): Problem => {
    const { line, col: column } = lineCounter.linePos(pos[0]);
    return {
      path: "",
      line,
      column,
      message: `this is not YAML: ${message}`,
      found: undefined,
      mend: "correct the YAML",
    };
  });
  return {
    value: yamlProblems.length === 0 ? document.toJS() : undefined,
    yamlProblems,
    locate({ path, message, mend, found }) {
      const { line, column } = placeOf(document, lineCounter, path);
      const shown = found === "hidden" ? undefined : (found ?? show(document.getIn(path)));
      return { path: formatPath(path), line, column, message, found: shown, mend };
    },
  };
}

/** Where the value stands, or the nearest thing around it that exists. */
function placeOf(document: Document, lineCounter: LineCounter, path: Path): { line: number; column: number } {
  for (let length = path.length; length >= 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (!isNode(node) || !node.range) continue;
    const { line, col: column } = lineCounter.linePos(node.range[0]);
    return { line: Math.max(1, line), column: Math.max(1, column) };
  }
  return { line: 1, column: 1 };
}

function show(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (isCollection(value))
    return "items" in value && value.flow !== undefined ? "a list or mapping" : "a list or mapping";
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= longestShown ? text : `${text.slice(0, longestShown)}…`;
}
