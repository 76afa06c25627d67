// Says whether a new build would make the same files: by a digest of a build's inputs, and of its outputs.
// Times of files say less: a checkout makes unchanged files newer, and a deleted file has no time.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const record = "dist.record.json";

/** The inputs of a build. node_modules/.package-lock.json is npm's list of installed packages, whose code is in the bundles. */
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

/** Taken before a build and after it: only if both are the same, it is known from which sources the build is. */
export function digestSources() {
  return createHash("sha256")
    .update(JSON.stringify(digestEach(sources)))
    .digest("hex");
}

/** The same for two folders with the same names and contents; `absent` if the path does not exist. */
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
    // Another build may be replacing the folder.
    if (error.code === "ENOENT") return "absent";
    throw error;
  }
  return hash.digest("hex");
}

/** Whether these folders are the last build's, made from the present sources. */
export function isFresh(folders) {
  return readRecord() === describe(digestSources(), digestEach(folders));
}

/** @param outputs each folder with its digest, as this build has made it: another build may have replaced the folder since */
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
