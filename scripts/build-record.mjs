// Says whether what was built is still what a build would make: a digest of all that goes into a build, and of what came out.
// Times of files say less: a checkout makes files newer that are the same, and a deleted file has no time.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const record = "dist.record.json";

/** What a build reads. npm keeps its own list of what is installed, which the bundles hold. */
const sources = [
  "LICENSE",
  "node_modules/.package-lock.json",
  "package-lock.json",
  "package.json",
  "scripts/build-record.mjs",
  "scripts/build.mjs",
  "scripts/bundle.mjs",
  "simulator/package.json",
  "simulator/src",
  "src",
  "tsconfig.build.json",
  "tsconfig.json",
];

/** Taken before a build begins, and when it is done: only where both are the same is it known what was built. */
export function digestSources() {
  return createHash("sha256")
    .update(JSON.stringify(digestEach(sources)))
    .digest("hex");
}

/** The same for two folders with the same names and contents; `absent` where nothing is. */
export function digestOf(path) {
  const hash = createHash("sha256");
  try {
    const names = statSync(path).isDirectory() ? readdirSync(path, { recursive: true }).sort() : [""];
    for (const name of names) {
      const file = join(path, name);
      if (!statSync(file).isFile()) continue;
      const bytes = readFileSync(file);
      hash.update(`${name}\0${bytes.length}\0`).update(bytes);
    }
  } catch (error) {
    // Another build may be replacing it.
    if (error.code === "ENOENT") return "absent";
    throw error;
  }
  return hash.digest("hex");
}

/** Whether these folders are what was built last, from the sources as they are. */
export function isFresh(folders) {
  return readRecord() === describe(digestSources(), digestEach(folders));
}

/** @param outputs each folder with its digest, as this build has made it: another build may have replaced it since */
export function writeRecord(sourcesDigest, outputs) {
  const unfinished = `${record}.${process.pid}`;
  writeFileSync(unfinished, describe(sourcesDigest, outputs));
  renameSync(unfinished, record);
}

function readRecord() {
  try {
    return readFileSync(record, "utf8");
  } catch {
    return undefined;
  }
}

function describe(sourcesDigest, outputs) {
  return `${JSON.stringify({ sources: sourcesDigest, ...outputs }, null, 2)}\n`;
}

function digestEach(paths) {
  return Object.fromEntries(paths.map((path) => [path, digestOf(path)]));
}
