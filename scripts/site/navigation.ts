import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { addressOf, capitalise, type Documents, index, linksOf, resolveLink, titleOf } from "./documents.ts";

/** An entry of the site's navigation, as VitePress reads it. */
export interface NavigationItem {
  readonly text: string;
  readonly link?: string;
  readonly collapsed?: boolean;
  readonly items?: readonly NavigationItem[];
}

/** The navigation is docs/index.md: a group for each heading, an entry for each link. A folder's documents are below it. */
export function readNavigation(root: string, documents: Documents, forge: string): NavigationItem[] {
  const [, ...sections] = readFileSync(join(root, index), "utf8").split(/^## /m);
  return sections.map((section) => ({
    text: section.split("\n", 1)[0] ?? "",
    collapsed: false,
    items: linksOf(section).map(({ text, href }) => {
      const target = resolveLink(index, href);
      const inFolder = documents.folders.get(target?.path ?? "") ?? [];
      return {
        text: capitalise(text),
        link: siteLink(addressOf(documents, forge, target) ?? href),
        ...(inFolder.length === 0 ? {} : { collapsed: true, items: inFolder.map((path) => itemOf(root, path)) }),
      };
    }),
  }));
}

/** Documents in docs/ to which the index has no link, so that nobody would find them. */
export function findUnlisted(root: string): string[] {
  const listed = linksOf(readFileSync(join(root, index), "utf8")).map(
    ({ href }) => resolveLink(index, href)?.path ?? "",
  );
  return readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`)
    .filter((path) => path !== index && !listed.some((each) => path === each || path.startsWith(`${each}/`)));
}

function itemOf(root: string, path: string): NavigationItem {
  return { text: titleOf(readFileSync(join(root, path), "utf8")), link: siteLink(`/${path}`) };
}

/** VitePress compares a page's address with these to show where the reader is. */
function siteLink(address: string): string {
  return address.replace(/(^\/|\/)index\.md/, "$1").replace(/\.md(#|$)/, "$1");
}
