import type { Finding, Path } from "./problem.ts";

/** Collects what is wrong and what is worth a warning, so that all of it is reported at once. */
export class Findings {
  readonly problems: Finding[] = [];
  readonly warnings: Finding[] = [];

  refuse(path: Path, message: string, mend: string, found?: string): undefined {
    this.problems.push({ path, message, mend, ...(found === undefined ? {} : { found }) });
    return undefined;
  }

  warn(path: Path, message: string, mend: string): void {
    this.warnings.push({ path, message, mend, found: "hidden" });
  }
}
