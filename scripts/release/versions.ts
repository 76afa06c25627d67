/** A kind of place where the version is written: in which files, as git's pathspecs, and between what. Each match is one version. */
interface Place {
  readonly files: readonly string[];
  readonly pattern: RegExp;
}

/** A version that a file names, and the line of it. */
export interface Mention {
  readonly file: string;
  readonly line: number;
  readonly version: string;
}

const version = String.raw`\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?`;
const written = [".github", "Dockerfile", "README.md", "deploy", "docs", "examples", "helm"];

export const places: readonly Place[] = [
  { files: ["package.json", "simulator/package.json"], pattern: between(`^ {2}"version": "`) },
  { files: ["package-lock.json"], pattern: between(`"name": "countersign(?:-simulator)?",\n +"version": "`) },
  { files: ["helm/*/Chart.yaml"], pattern: between(`^(?:version: |appVersion: ")`) },
  { files: ["Dockerfile"], pattern: between("^ARG VERSION=") },
  // The chart as a dependency of another chart, and where it is asked for by its version.
  { files: written, pattern: between("name: countersign, version: ") },
  { files: ["helm/*/Chart.yaml"], pattern: between(String.raw`- name: countersign\n +version: `) },
  { files: written, pattern: between("charts/countersign --version ") },
  // Images, and what Compose takes where nothing else is said.
  { files: written, pattern: between(String.raw`\bcountersign(?:-simulator)?:`) },
  { files: written, pattern: between("COUNTERSIGN_VERSION:-") },
  { files: written, pattern: between(String.raw`\bcountersign@`) },
  // The tag by which the signature of an image is verified.
  { files: written, pattern: between("@refs/tags/v") },
];

/** What a text of the place names. */
export function findMentions(file: string, text: string, { pattern }: Place): Mention[] {
  return [...text.matchAll(pattern)].map(({ 0: version, index }) => {
    return { file, line: text.slice(0, index).split("\n").length, version };
  });
}

/** The text with another version in all that the place means. */
export function replaceVersion(text: string, version: string, { pattern }: Place): string {
  return text.replace(pattern, version);
}

/** @returns whether the text is a version, as Semantic Versioning has it, without build metadata */
export function isVersion(text: string): boolean {
  return new RegExp(`^${version}$`).test(text);
}

function between(before: string): RegExp {
  return new RegExp(`(?<=${before})${version}`, "gm");
}
