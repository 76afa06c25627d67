import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Links of a built site that lead nowhere: to no file, or to no element of a page.
 * @param folder the site
 * @param base path that it is served under, with a `/` at both ends
 * @returns each as `page: link`
 */
export function findDeadLinks(folder: string, base: string): string[] {
  const texts = new Map(pagesOf(folder).map((page) => [page, readFileSync(join(folder, page), "utf8")]));
  const ids = new Map([...texts].map(([page, text]) => [page, new Set(valuesOf(text, "id"))]));
  return [...texts].flatMap(([page, text]) => {
    const links = [...valuesOf(text, "href"), ...valuesOf(text, "src")];
    return [...new Set(links)].filter((link) => isDead(link, page)).map((link) => `${page}: ${link}`);
  });

  function isDead(link: string, page: string): boolean {
    const { origin, pathname, hash } = new URL(link, `http://site${base}${page}`);
    if (origin !== "http://site") return false;
    if (!pathname.startsWith(base)) return true;
    const path = decodeURIComponent(pathname.slice(base.length)).replace(/(^|\/)$/, "$1index.html");
    const name = decodeURIComponent(hash.slice(1));
    if (!existsSync(join(folder, path))) return true;
    return name !== "" && ids.get(path)?.has(name) === false;
  }
}

/** Pages of a built site without a heading: VitePress goes on where it fails to render one. */
export function findEmptyPages(folder: string): string[] {
  return pagesOf(folder).filter(
    (page) => page !== "404.html" && !/<h1[ >]/.test(readFileSync(join(folder, page), "utf8")),
  );
}

function pagesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"));
}

function valuesOf(html: string, attribute: string): string[] {
  const found = html.matchAll(new RegExp(`<[^>]+?\\s${attribute}="([^"]*)"`, "g"));
  return [...found].map(([, value = ""]) => value.replaceAll("&amp;", "&").replaceAll("&quot;", '"'));
}
