import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { capitalise, home, index, linksOf, resolveLink } from "./documents.ts";

/**
 * llms.txt (https://llmstxt.org), by which language models find the documents: what Countersign is, then the links of docs/index.md. They
 * are relative, so they lead to the Markdown files of the repository, and to their copies on the site.
 */
export function describeForModels(root: string): string {
  const [title = "", ...paragraphs] = readFileSync(join(root, home), "utf8").split("\n\n");
  const [intro = ""] = paragraphs.filter((text) => /^\w/.test(text));
  const [, ...sections] = readFileSync(join(root, index), "utf8").split(/^## /m);
  const groups = sections.map((section) => {
    const links = linksOf(section).map(({ text, href }) => {
      const { path, anchor } = resolveLink(index, href) ?? { path: href, anchor: "" };
      const folder = statSync(join(root, path)).isDirectory() ? "/" : "";
      return `- [${capitalise(text)}](${path}${folder}${anchor})`;
    });
    return `## ${section.split("\n", 1)[0]}\n\n${links.join("\n")}\n`;
  });
  return [title, `> ${intro.replaceAll("\n", " ")}`, ...groups].join("\n\n").replaceAll("\n\n\n", "\n\n");
}
