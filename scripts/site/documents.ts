import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

// Which of the project's files are pages of the site, and where their links lead. The site has the paths of the repository, except that a
// README.md is the index of its folder. The front page is made for the site (front-page.md), so the root's README.md is a page beside it.

export interface Link {
  readonly text: string;
  readonly href: string;
  readonly isImage: boolean;
}

/** Where a link leads: to a path of the repository, and to a heading there. */
export interface Target {
  readonly path: string;
  /** With its `#`, or empty. */
  readonly anchor: string;
}

/** Paths within the repository. */
export interface Documents {
  /** Every document that can be reached from the README and from the index. */
  readonly pages: readonly string[];
  /** Folders without a README.md that a document links to, each with the documents in it. */
  readonly folders: ReadonlyMap<string, readonly string[]>;
  readonly images: readonly string[];
  /** Links to files that are not in the repository, each as `document: link`. */
  readonly missing: readonly string[];
}

export const home = "README.md";
export const index = "docs/index.md";

export function linksOf(text: string): Link[] {
  return [...text.matchAll(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g)].map(([, mark, shown = "", href = ""]) => ({
    text: shown.replaceAll("`", ""),
    href,
    isImage: mark === "!",
  }));
}

/** Undefined for a link that leaves the repository. */
export function resolveLink(document: string, href: string): Target | undefined {
  if (/^[a-z][a-z+.-]*:|^\/\//i.test(href)) return undefined;
  const [, path = "", anchor = ""] = /^([^#]*)(#.*)?$/.exec(href) ?? [];
  return { path: path === "" ? document : normalize(join(dirname(document), path)).replace(/\/$/, ""), anchor };
}

/** @param root folder of the repository */
export function findDocuments(root: string): Documents {
  const pages = new Set<string>();
  const folders = new Map<string, readonly string[]>();
  const images = new Set<string>();
  const missing: string[] = [];
  const waiting = [home, index];
  for (let document = waiting.pop(); document !== undefined; document = waiting.pop()) {
    if (pages.has(document)) continue;
    pages.add(document);
    for (const { href, isImage } of linksOf(readFileSync(join(root, document), "utf8"))) {
      const path = resolveLink(document, href)?.path;
      if (path === undefined) continue;
      if (!existsSync(join(root, path))) missing.push(`${document}: ${href}`);
      else if (isImage) images.add(path);
      else if (path.endsWith(".md")) waiting.push(path);
      else if (statSync(join(root, path)).isDirectory()) waiting.push(...listFolder(root, path, folders));
    }
  }
  return { pages: [...pages].sort(), folders, images: [...images].sort(), missing };
}

function listFolder(root: string, folder: string, folders: Map<string, readonly string[]>): readonly string[] {
  if (existsSync(join(root, folder, "README.md"))) return [join(folder, "README.md")];
  const documents = readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => join(folder, name));
  if (documents.length > 0) folders.set(folder, documents);
  return documents;
}

/** The site's file for a document. */
export function pageOf(document: string): string {
  return document === home ? "readme.md" : document.replace(/\/README\.md$/, "/index.md");
}

/** The anchor that forges make of a heading, so that a link leads to the same heading there and on the site. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

export function titleOf(text: string): string {
  return /^# (.*)$/m.exec(text)?.[1] ?? "";
}

/**
 * The address of a link on the site.
 * @param forge where the repository is shown, for files that are no pages
 * @returns undefined for a link that leaves the repository
 */
export function addressOf(
  { pages, folders }: Documents,
  forge: string,
  target: Target | undefined,
): string | undefined {
  if (target === undefined) return undefined;
  const { path, anchor } = target;
  const document = [path, `${path}/README.md`].find((each) => pages.includes(each));
  if (document !== undefined) return `/${pageOf(document)}${anchor}`;
  if (folders.has(path)) return `/${path}/index.md`;
  return `${forge}/blob/HEAD/${path}${anchor}`;
}

export function capitalise(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
