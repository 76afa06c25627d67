import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { readSections } from "./changelog.ts";
import { findMentions, type Mention, places, replaceVersion } from "./versions.ts";

/** The version of this checkout, by package.json. */
export function currentVersion(): string {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  return String(version);
}

/** Where the version is written, place by place; a place that no file has is an empty list. */
export function collectMentions(): Mention[][] {
  return places.map((place) =>
    listFiles(place.files).flatMap((file) => findMentions(file, readFileSync(file, "utf8"), place)),
  );
}

/**
 * What keeps this checkout from being one version.
 * @param tag the tag that is to be released: the version with a `v` before it, dated in CHANGELOG.md
 * @returns one sentence each, with what to do
 */
export function findDisagreements(tag?: string): string[] {
  const version = currentVersion();
  const mentions = collectMentions();
  const lost = places.filter((_, index) => mentions[index]?.length === 0);
  const others = mentions.flat().filter((mention) => mention.version !== version);
  const released = readSections(readFileSync("CHANGELOG.md", "utf8")).filter(({ name }) => name !== "Unreleased");
  const [newest] = released;
  return [
    ...lost.map(({ pattern }) => `No file has ${pattern} any more: correct scripts/release/versions.ts.`),
    ...others.map(({ file, line, version: other }) => `${file}:${line} says ${other}, package.json ${version}.`),
    ...(newest === undefined || newest.name === version ? [] : [`CHANGELOG.md begins with [${newest.name}].`]),
    ...released.filter(({ date }) => date === undefined).map(({ name }) => `CHANGELOG.md gives [${name}] no date.`),
    ...(tag === undefined || tag === `v${version}` ? [] : [`The tag is ${tag}, the version ${version}.`]),
    ...(tag === undefined || newest !== undefined
      ? []
      : [`CHANGELOG.md has no section [${version}]: npm run release -- prepare ${version} makes it.`]),
  ];
}

/** Writes a version wherever the present one stands. @returns the files that changed */
export function writeVersion(version: string): string[] {
  const changed = new Set<string>();
  for (const place of places) {
    for (const file of listFiles(place.files)) {
      const text = readFileSync(file, "utf8");
      const written = replaceVersion(text, version, place);
      if (written === text) continue;
      writeFileSync(file, written);
      changed.add(file);
    }
  }
  return [...changed];
}

function listFiles(files: readonly string[]): string[] {
  const { status, stdout, stderr } = spawnSync("git", ["ls-files", "--", ...files], { encoding: "utf8" });
  if (status !== 0) throw new Error(`git ls-files failed: ${stderr}`);
  return stdout.split("\n").filter((file) => existsSync(file) && !/\.(png|svg|ico)$/.test(file));
}
