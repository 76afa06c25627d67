import { readFileSync, writeFileSync } from "node:fs";
import { print, printError } from "../../src/cli/terminal.ts";
import { runCommand } from "../command-line.ts";
import { currentVersion, findDisagreements, writeVersion } from "./agreement.ts";
import { makeArtifacts } from "./artifacts.ts";
import { readSections, release } from "./changelog.ts";
import { type Options, readOptions, usage } from "./options.ts";

// `npm run release`: what can be scripted of a release. docs/releasing.md has all steps. Nothing is committed, tagged or
// published here.

const today = new Date().toISOString().slice(0, 10);

process.exitCode = await runCommand((args) => readOptions(args, today), usage, run);

async function run(options: Options): Promise<number> {
  switch (options.command) {
    case "prepare":
      return prepare(options.version, options.date);
    case "check":
      return check(options.tag);
    case "notes":
      print(readSections(readFileSync("CHANGELOG.md", "utf8")).find(({ date }) => date !== undefined)?.text ?? "");
      return 0;
    case "artifacts":
      return artifacts(options.folder);
  }
}

function prepare(version: string, date: string): number {
  const { repository } = JSON.parse(readFileSync("package.json", "utf8"));
  const home = String(repository.url).replace(/^git\+|\.git$/g, "");
  const changelog = release(readFileSync("CHANGELOG.md", "utf8"), version, date, home);
  const files = writeVersion(version);
  writeFileSync("CHANGELOG.md", changelog);
  for (const file of [...files, "CHANGELOG.md"]) print(file);
  return check(`v${version}`);
}

function artifacts(folder: string): number {
  try {
    for (const file of makeArtifacts(folder, currentVersion())) print(file);
    return 0;
  } catch (error) {
    printError((error as Error).message);
    return 1;
  }
}

function check(tag: string | undefined): number {
  const disagreements = findDisagreements(tag);
  for (const sentence of disagreements) printError(sentence);
  if (disagreements.length > 0) return 1;
  print(`${currentVersion()} everywhere`);
  return 0;
}
