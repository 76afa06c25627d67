import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const version = String.raw`\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?`;
const written = [".github", "Dockerfile", "README.md", "deploy", "docs", "examples", "helm"];

/** Where the version is written: the files, as git's pathspecs, and the text before the version. */
const places: readonly { readonly files: readonly string[]; readonly pattern: RegExp }[] = [
  { files: ["package.json", "simulator/package.json"], pattern: behind(`^ {2}"version": "`) },
  { files: ["package-lock.json"], pattern: behind(`"name": "countersign(?:-simulator)?",\n +"version": "`) },
  { files: ["helm/*/Chart.yaml"], pattern: behind(`^(?:version: |appVersion: ")`) },
  { files: ["Dockerfile"], pattern: behind("^ARG VERSION=") },
  // The chart as a dependency of another chart, and commands that name its version.
  { files: written, pattern: behind("name: countersign, version: ") },
  { files: ["helm/*/Chart.yaml"], pattern: behind(String.raw`- name: countersign\n +version: `) },
  { files: written, pattern: behind("charts/countersign --version ") },
  // Images, and Compose's default.
  { files: written, pattern: behind(String.raw`\bcountersign(?:-simulator)?:`) },
  { files: written, pattern: behind("COUNTERSIGN_VERSION:-") },
  { files: written, pattern: behind(String.raw`\bcountersign@`) },
  // The tag by which the signature of an image is verified.
  { files: written, pattern: behind("@refs/tags/v") },
];

/** The fields of package.json that a release reads. */
interface Manifest {
  readonly version: string;
  readonly repository: { readonly url: string };
}

/**
 * The places whose version differs, in one sentence each.
 * @param tag the tag that is to be released: `v` and the version, dated in CHANGELOG.md
 */
export function findDisagreements(tag?: string): string[] {
  const manifest = JSON.parse(readFileSync("package.json", "utf8"));
  const { version, homepage } = manifest;
  const wrong = places.flatMap(({ files, pattern }) => {
    const found = listFiles(files).flatMap((file) => {
      return [...readFileSync(file, "utf8").matchAll(pattern)].map(([other]) => ({ file, other }));
    });
    if (found.length === 0) return [`No file has ${pattern} any more: correct scripts/release/versions.ts.`];
    const others = found.filter(({ other }) => other !== version);
    return others.map(({ file, other }) => `${file} says ${other}, package.json ${version}.`);
  });
  if ((homepage ?? tag) !== undefined && homepage !== homepageOf(manifest))
    wrong.push(`The homepage in package.json is ${homepage}, not ${homepageOf(manifest)}.`);
  if (tag === undefined) return wrong;
  if (tag !== `v${version}`) wrong.push(`The tag is ${tag}, the version ${version}.`);
  const [, newest] = /^## \[(\d[^\]]*)\] - \d{4}-\d\d-\d\d$/m.exec(readFileSync("CHANGELOG.md", "utf8")) ?? [];
  if (newest !== version)
    wrong.push(`The newest section with a date in CHANGELOG.md is [${newest}], not [${version}].`);
  return wrong;
}

/** The address of a version's README.md, with its documents beside it; package.json has it from a release on. */
export function homepageOf({ repository, version }: Manifest): string {
  return `${repository.url.replace(/^git\+|\.git$/g, "")}/blob/v${version}/README.md`;
}

/** A page as it is after the first release: without its unpublished parts, and with the parts that a comment hides until then. */
export function publishedForm(text: string): string {
  return text
    .replace(/<!-- unpublished -->\n.*?<!-- \/unpublished -->\n/gs, "")
    .replace(/<!-- published\n(.*?)\/published -->\n/gs, "$1");
}

/** Writes a version in place of the present one, in all files. */
export function writeVersion(version: string): void {
  for (const { files, pattern } of places) {
    for (const file of listFiles(files)) writeFileSync(file, readFileSync(file, "utf8").replace(pattern, version));
  }
}

function listFiles(files: readonly string[]): string[] {
  const listed = execFileSync("git", ["ls-files", "--", ...files], { encoding: "utf8" }).split("\n");
  return listed.filter((file) => existsSync(file) && !/\.(png|svg|ico)$/.test(file));
}

function behind(before: string): RegExp {
  return new RegExp(`(?<=${before})${version}`, "gm");
}
