import { isDeepStrictEqual } from "node:util";
import type { FileProblem } from "../model/environment.ts";

/** Where in the configuration: keys and list positions. */
export type Path = readonly (string | number)[];

/** Every warning that a configuration can get: its stable code, by which `acknowledge` silences it, and its subject. */
export const warnings = {
  hmac_for_existing_clients: "a site may sign with HMAC, which is for clients from before 2026-08-01 (spec 5.1)",
  secret_short: "a secret has fewer than 16 bytes",
  secret_not_plain:
    "a secret has characters that do not show, or quotes around it, or is a text in Base64, or its key is not UTF-8",
  secret_readable_by_all: "everyone on the machine may read a secret's file",
  mounted_by_subpath: "a file is mounted by subPath, so a changed Secret or ConfigMap never reaches it",
  callers_in_plain_text: "callers' tokens and orders go over the network in plain text",
  callbacks_forgotten:
    "after a restart, callbacks signed before it are refused: `replay` is strict and tokens.cache is memory",
  callbacks_without_keys: "sites have no keys, so that every callback for them is refused",
  redis_password_in_plain_text: "the password of Redis goes over the network in plain text",
  tokens_from_the_api: "tokens come from the origin of the JSON API; the service has another host for them (spec 4.2)",
  credential_sets_same:
    "both credential sets of a site are one client, so that none takes over when it is refused, or have one secret",
  placeholder_left: "a client id is an example's placeholder, such as CLIENT_ID",
  timeout_beyond_request: "a timeout is longer than timeouts.request, which ends a request before it",
  site_in_two_environments: "sites of one environment have the identifiers of another one's",
  until_past: "a key of alsoVerifyWith verifies no callback any more, since its `until` is past",
  environment_unused: "no listener leads to an environment; its sites get tokens all the same",
  site_folder_empty: "a folder of sites has no site, so that every request of its environment fails",
  socket_folder_absent: "a socket is in a folder that is not on this machine, where serve could not listen",
  default_site_absent: "requests that name no site fail, since no file of the folder has the default site",
} as const;

export type WarningCode = keyof typeof warnings;

export const warningCodes = Object.keys(warnings) as readonly WarningCode[] as readonly [WarningCode, ...WarningCode[]];

/** Something wrong with the configuration, or worth a warning. */
export interface Problem extends FileProblem {
  /** The site's own file that has the problem; absent: the configuration file. */
  readonly file?: string | undefined;
  /** A warning's stable code. */
  readonly code?: WarningCode;
}

/** A place in the file, and the value there if it may be shown. */
export type Location = Pick<Problem, "line" | "column" | "found">;

/** Something worth a warning. To find its place takes long in a large file, and a start logs the path alone. */
export interface Warning extends Omit<Problem, keyof Location | "path"> {
  readonly code: WarningCode;
  readonly path: Path;
  readonly locate: (path: Path) => Location;
}

/** Collects the problems and the warnings of one file, so that all those of one phase are reported together. */
export class Diagnostics {
  readonly problems: Problem[] = [];
  readonly warnings: Warning[] = [];
  readonly #locate: (path: Path) => Location;
  readonly #file: string | undefined;

  /**
   * @param locate finds the place of a path in the file, or of its nearest parent that exists
   * @param file the site's own file; absent for the configuration file
   */
  constructor(locate: (path: Path) => Location, file?: string) {
    this.#locate = locate;
    this.#file = file;
  }

  lineOf(path: Path): number {
    return this.#locate(path).line;
  }

  /** @param found shown instead of the value in the file; `hidden` if that may be a secret */
  report(path: Path, message: string, fix: string, found?: string | "hidden"): undefined {
    const { line, column, found: written } = this.#locate(path);
    const shown = found === "hidden" ? undefined : (found ?? written);
    const problem = { path: formatPath(path), line, column, message, found: shown, fix };
    // Several reads may fail for one reason.
    if (!isDeepStrictEqual(problem, this.problems.at(-1))) this.problems.push(problem);
    return undefined;
  }

  warn(code: WarningCode, path: Path, message: string, fix: string): void {
    this.warnings.push({ path, file: this.#file, message, fix, code, locate: this.#locate });
  }
}

/** `["sites", "S1", "keys", 0]` as `sites.S1.keys[0]`. */
export function formatPath(path: Path): string {
  const parts = path.map((part, index) => {
    if (typeof part === "number") return `[${part}]`;
    return index === 0 ? showKey(part) : `.${showKey(part)}`;
  });
  return parts.join("");
}

/** Without a value that was written into the key, and may be a secret: `clientSecret:…` in braces, without a blank, is one key. */
export function showKey(key: string): string {
  return key.replace(/[:="'`].*|(?<=^\w*(?:secret|password|key|token)\w*)\s.*/is, "…");
}

/** A problem of a whole file or folder. */
export function problemOfAll(message: string, fix: string): Problem {
  return { path: "", line: 0, column: 0, message, found: undefined, fix };
}

/** Warnings with their places, sorted by these; the value there is not shown. */
export function located(warnings: readonly Warning[]): Problem[] {
  const problems = warnings.map(({ locate, path, ...words }) => {
    return { ...words, ...locate(path), path: formatPath(path), found: undefined };
  });
  return inFileOrder(problems);
}

/** Sorted by place; the configuration file comes first. */
export function inFileOrder(problems: readonly Problem[]): Problem[] {
  return problems.toSorted(
    (a, b) => (a.file ?? "").localeCompare(b.file ?? "") || a.line - b.line || a.column - b.column,
  );
}

/** Problems for a terminal, in their order: a line with place and message, then the value found and the fix. */
export function formatProblems(file: string, problems: readonly Problem[]): string {
  const texts = problems.map((problem) => {
    const { line, column, found, fix, code } = problem;
    const place = line === 0 ? "" : `:${line}:${column}`;
    const lines = [`${problem.file ?? file}${place}  ${withPath(problem)}`];
    if (found !== undefined && found !== "") lines.push(`    found  ${found}`);
    lines.push(`    fix    ${fix}`);
    if (code !== undefined) lines.push(`    code   ${code}`);
    return lines.join("\n");
  });
  return texts.join("\n");
}

/** A problem in one line, for a log. */
export function describeProblem(problem: Problem): string {
  const place = problem.line === 0 ? "" : `line ${problem.line}, column ${problem.column}: `;
  return `${place}${withPath(problem)}; ${problem.fix}`;
}

function withPath({ path, message }: Problem): string {
  return path === "" ? message : `${path}: ${message}`;
}
