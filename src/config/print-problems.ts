import type { Problem } from "./problem.ts";

/** Problems for a terminal: a line that says where and what, then what was found and how to fix it. */
export function formatProblems(file: string, problems: readonly Problem[]): string {
  return problems
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    .map(({ path, line, column, message, found, fix, code }) => {
      const where = `${file}:${line}:${column}`;
      const lines = [`${where}  ${path === "" ? message : `${path}: ${message}`}`];
      if (found !== undefined && found !== "") lines.push(`    found  ${found}`);
      lines.push(`    fix    ${fix}`);
      if (code !== undefined) lines.push(`    code   ${code}`);
      return lines.join("\n");
    })
    .join("\n");
}

/** A problem in one line, for a log. */
export function describeProblem({ path, line, column, message, fix }: Problem): string {
  return `line ${line}, column ${column}: ${path === "" ? message : `${path}: ${message}`}; ${fix}`;
}
