import { parseOptions, UsageError } from "../command-line.ts";
import { isVersion } from "./versions.ts";

export const usage = `npm run release -- COMMAND

  prepare VERSION [--date YYYY-MM-DD]   writes the version wherever it stands, and cuts its section in CHANGELOG.md
  check [--tag vVERSION]                one version everywhere; with a tag, that one, dated in CHANGELOG.md
  notes                                 prints the newest section of CHANGELOG.md
  artifacts FOLDER                      makes what is published: package, bill of materials, chart, formula, sums

docs/releasing.md has the steps around it.`;

export type Options =
  | { readonly command: "prepare"; readonly version: string; readonly date: string }
  | { readonly command: "check"; readonly tag: string | undefined }
  | { readonly command: "notes" }
  | { readonly command: "artifacts"; readonly folder: string };

/**
 * @param today as YYYY-MM-DD
 * @returns undefined when help is wanted
 * @throws UsageError
 */
export function readOptions(args: readonly string[], today: string): Options | undefined {
  const [command, ...rest] = args;
  if (command === undefined || command === "--help" || command === "-h") return undefined;
  switch (command) {
    case "prepare": {
      const [version = "", ...others] = rest;
      const { date = today } = parseOptions(others, { date: { type: "string" } }, usage);
      if (!isVersion(version)) throw new UsageError(`prepare wants a version such as 0.2.0.\n\n${usage}`);
      if (!isDate(date)) throw new UsageError(`--date wants a day as YYYY-MM-DD.\n\n${usage}`);
      return { command, version, date };
    }
    case "check":
      return { command, tag: parseOptions(rest, { tag: { type: "string" } }, usage).tag };
    case "notes":
      parseOptions(rest, {}, usage);
      return { command };
    case "artifacts": {
      const [folder = "", ...others] = rest;
      parseOptions(others, {}, usage);
      if (folder === "" || folder.startsWith("-")) throw new UsageError(`artifacts wants a folder.\n\n${usage}`);
      return { command, folder };
    }
    default:
      throw new UsageError(`${command} is no command.\n\n${usage}`);
  }
}

function isDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}
