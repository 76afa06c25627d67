import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { print, printError } from "../../src/cli/terminal.ts";
import { capitalise, type Documents, findDocuments, pageOf, titleOf } from "./documents.ts";
import { findEmptyPages } from "./empty-pages.ts";
import { findUnlisted } from "./navigation.ts";

// `npm run docs`: makes a static site of the documents, with VitePress, which is installed only in scripts/site. Exit code 1
// for a link that leads nowhere, for a page that cannot be rendered, and for a document that docs/index.md does not list.

const folder = "scripts/site";
const pages = join(folder, "dist.pages");
const site = join(folder, "dist");

const { values } = parseArgs({ options: { base: { type: "string", default: "/" }, serve: { type: "boolean" } } });
const base = `/${values.base}/`.replace(/\/+/g, "/");

const documents = findDocuments(".");
report("These documents are not in docs/index.md, which is the navigation:", findUnlisted("."));
report("These links lead nowhere:", documents.missing);
install();
gather(documents);
runVitePress("build");
for (const path of ["llms.txt", ...documents.pages]) copyFile(path, join(site, path));
report("These pages could not be rendered:", findEmptyPages(site));
print(`The site is in ${site}${values.serve ? "" : "; npm run docs -- --serve shows it in a browser"}.`);
if (values.serve) runVitePress("preview");

/** Installs once for each lock file. */
function install(): void {
  const [lock, installed] = [join(folder, "package-lock.json"), join(folder, "node_modules/.installed.json")];
  if (existsSync(installed) && readFileSync(installed, "utf8") === readFileSync(lock, "utf8")) return;
  run("npm", ["ci", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]);
  copyFileSync(lock, installed);
}

/** Copies only the documents, to the paths of the site, so that no other file of the repository can become a page. */
function gather(documents: Documents): void {
  rmSync(pages, { recursive: true, force: true });
  for (const path of documents.images) place(path, readFileSync(path));
  place("index.md", readFileSync(join(folder, "front-page.md"), "utf8").replaceAll("](../../", "]("));
  for (const path of documents.pages) place(pageOf(path), `${frontMatterOf(path)}${readFileSync(path, "utf8")}`);
  for (const [path, listed] of documents.folders) {
    const entries = listed.map((each) => `* [${titleOf(readFileSync(each, "utf8"))}](/${each})`);
    place(join(path, "index.md"), `# ${capitalise(basename(path))}\n\n${entries.join("\n")}\n`);
  }
  place("public/mermaid.js", readFileSync(join(folder, "node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js")));
}

/** The change log is not searched: it contains every word that a reader may look for. */
function frontMatterOf(path: string): string {
  return path === "CHANGELOG.md" ? "---\nsearch: false\n---\n\n" : "";
}

function place(path: string, contents: string | Buffer): void {
  const file = join(pages, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, contents);
}

/** Language models read the documents as they are, beside the pages made of them. */
function copyFile(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}

function runVitePress(task: "build" | "preview"): void {
  run(process.execPath, [join(folder, "node_modules/vitepress/bin/vitepress.js"), task, folder, "--base", base]);
}

function run(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

function report(complaint: string, found: readonly string[]): void {
  if (found.length === 0) return;
  printError([complaint, ...found].join("\n  "));
  process.exit(1);
}
