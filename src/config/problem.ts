import type { WarningCode } from "./warning-codes.ts";

/** Where in the configuration: keys and list positions. */
export type Path = readonly (string | number)[];

/** Something wrong with the configuration, or worth a warning. It never holds a secret. */
export interface Problem {
  /** As in `environments.sandbox.sites.S1.credentials[0].audience`; empty for the file itself. */
  readonly path: string;
  /** From 1, in the YAML file. */
  readonly line: number;
  readonly column: number;
  /** What is wrong, as a clause. */
  readonly message: string;
  /** What stands there, where that can be shown. */
  readonly found: string | undefined;
  /** What to do about it. */
  readonly fix: string;
  /** Of a warning: its stable code, by which `acknowledge` silences it. */
  readonly code?: WarningCode;
}

/** A problem before its place in the file is looked up. */
export interface Diagnostic {
  readonly path: Path;
  readonly message: string;
  readonly fix: string;
  /** In place of what stands in the file; `hidden` where a secret may stand. */
  readonly found?: string | "hidden";
  /** The place that was probably meant, where a key is misspelt. */
  readonly meant?: Path;
  /** Of a warning. */
  readonly code?: WarningCode;
}

/** `["sites", "S1", "keys", 0]` as `sites.S1.keys[0]`. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    return text === "" ? part : `${text}.${part}`;
  }, "");
}

/** Whether two places are the same, or one lies inside the other. */
export function doOverlap(a: Path, b: Path): boolean {
  return a.slice(0, b.length).every((part, index) => part === b[index]);
}
