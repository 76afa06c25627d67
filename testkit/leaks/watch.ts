/**
 * For the whole suite: everything that comes out while the tests run is searched for every canary (outflow.ts), and one
 * sighting fails the run. Vitest's global set-up, listed first, so that its teardown runs last.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { unlawful } from "./lawful.ts";
import { folderVariable, type Outlet, type Sighting } from "./outflow.ts";

export default function setup(): (() => void) | undefined {
  // Vitest calls it for each of its projects.
  if (process.env[folderVariable] !== undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "countersign-sightings-"));
  process.env[folderVariable] = folder;
  return () => {
    const { sightings, heard } = readSightings(folder);
    rmSync(folder, { recursive: true, force: true });
    const found = unlawful(sightings);
    process.stdout.write(`Leaks: searched ${[...heard].join(", ") || "nothing"}; found ${found.length}\n`);
    if (found.length === 0) return;
    process.exitCode = 1;
    throw new Error(`Something came out that must not:\n${found.map(describe).join("\n")}`);
  };
}

/** The sightings that the workers wrote down. */
export function readSightings(folder: string): { sightings: Sighting[]; heard: ReadonlySet<Outlet> } {
  const lines = readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), "utf8").trim().split("\n"));
  const notes: (Sighting & { heard?: Outlet })[] = lines.map((line) => JSON.parse(line));
  const heard = new Set(notes.flatMap(({ heard }) => heard ?? []));
  return { sightings: notes.filter((note) => note.heard === undefined), heard };
}

function describe({ outlet, canary, file, test }: Sighting): string {
  return `${canary} in ${outlet}: ${relative(process.cwd(), file)} > ${test}`;
}
