import { type Diagnostic, doOverlap, type Path } from "./problem.ts";
import type { WarningCode } from "./warning-codes.ts";

/** Collects what is wrong and what is worth a warning, so that all of it is reported at once. */
export class Findings {
  readonly warnings: Diagnostic[] = [];
  readonly #faults: readonly Diagnostic[];
  readonly #placeInFile: (path: Path) => Path;
  readonly #refusals: Diagnostic[] = [];

  /**
   * @param faults what the schema has against the file already
   * @param placeInFile where the places named here are in the file
   */
  constructor(faults: readonly Diagnostic[], placeInFile: (path: Path) => Path) {
    this.#faults = faults;
    this.#placeInFile = placeInFile;
  }

  get problems(): readonly Diagnostic[] {
    return [...this.#faults, ...this.#refusals];
  }

  refuse(path: Path, message: string, fix: string, found?: string): undefined {
    const place = this.#placeInFile(path);
    this.#refusals.push({ path: place, message, fix, ...(found === undefined ? {} : { found }) });
    return undefined;
  }

  /** Refuses what was concluded from several places; where one of them is faulty, nothing can be concluded. */
  conclude(from: readonly Path[], path: Path, message: string, fix: string, found?: string): undefined {
    const places = from.map(this.#placeInFile);
    const isFaulty = (place: Path) =>
      this.#faults.some(({ path, meant = path }) => doOverlap(place, path) || doOverlap(place, meant));
    return places.some(isFaulty) ? undefined : this.refuse(path, message, fix, found);
  }

  warn(code: WarningCode, path: Path, message: string, fix: string): void {
    this.warnings.push({ code, path, message, fix, found: "hidden" });
  }
}
