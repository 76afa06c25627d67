import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Pages of a built site without a heading: VitePress continues if it fails to render a page. */
export function findEmptyPages(folder: string): string[] {
  const pages = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"));
  return pages.filter((page) => page !== "404.html" && !/<h1[ >]/.test(readFileSync(join(folder, page), "utf8")));
}
