/** CHANGELOG.md as Keep a Changelog wants it: `## [Unreleased]`, then `## [0.1.0] - 2026-12-01`, the newest first. */

const heading = /^## \[(?<name>[^\]]+)\](?: - (?<date>\d{4}-\d{2}-\d{2}))?$/gm;
const links = /\n+\[Unreleased\]: [\s\S]*$/;

interface Section {
  readonly name: string;
  /** undefined for what is not released */
  readonly date: string | undefined;
  readonly text: string;
}

export function readSections(changelog: string): Section[] {
  const body = changelog.replace(links, "\n");
  const heads = [...body.matchAll(heading)];
  return heads.map((head, index) => ({
    name: head.groups?.["name"] ?? "",
    date: head.groups?.["date"],
    text: body.slice(head.index + head[0].length, heads[index + 1]?.index).trim(),
  }));
}

/**
 * What is unreleased becomes the section of a version; an empty one takes its place.
 * @param home the address of the repository, for the links at the end
 * @throws Error when there is nothing to release, or the version is there already
 */
export function release(changelog: string, version: string, date: string, home: string): string {
  const sections = readSections(changelog);
  if (sections[0]?.name !== "Unreleased") throw new Error("CHANGELOG.md does not begin with ## [Unreleased]");
  if (sections[0].text === "") throw new Error("CHANGELOG.md has nothing under ## [Unreleased]");
  if (sections.some(({ name }) => name === version)) throw new Error(`CHANGELOG.md has a section [${version}] already`);
  const body = changelog
    .replace(links, "")
    .trimEnd()
    .replace("## [Unreleased]\n", `## [Unreleased]\n\n## [${version}] - ${date}\n`);
  const versions = [version, ...sections.slice(1).map(({ name }) => name)];
  const lines = versions.map((name, index) => {
    const before = versions[index + 1];
    return `[${name}]: ${home}/${before === undefined ? `releases/tag/v${name}` : `compare/v${before}...v${name}`}`;
  });
  return `${body}\n\n[Unreleased]: ${home}/compare/v${version}...HEAD\n${lines.join("\n")}\n`;
}
