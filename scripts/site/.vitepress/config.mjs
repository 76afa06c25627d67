import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { addressOf, findDocuments, pageOf, resolveLink, slugOf } from "../documents.ts";
import { readNavigation } from "../navigation.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const { description, repository } = JSON.parse(readFileSync(`${root}/package.json`, "utf8"));
const forge = repository.url.replace(/^git\+/, "").replace(/\.git$/, "");
const documents = findDocuments(root);
const documentOf = new Map(documents.pages.map((path) => [pageOf(path), path]));
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="#1f8a4c"/></svg>';

export default {
  title: "Countersign",
  description,
  head: [["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  srcDir: "dist.pages",
  outDir: "dist",
  cacheDir: "node_modules/.cache",
  // Dead links are errors, except localhost: the addresses of examples, which run on the reader's machine.
  ignoreDeadLinks: "localhostLinks",
  markdown: {
    anchor: { slugify: slugOf },
    // The most similar language that the highlighter knows.
    languageAlias: { promql: "sql" },
    config(md) {
      // A word that looks like a host is the name of a file.
      md.linkify.set({ fuzzyLink: false });
      md.core.ruler.push("repository-links", leadToPages);
      md.renderer.rules.fence = drawDiagrams(md.renderer.rules.fence, md.utils.escapeHtml);
      md.renderer.rules.text = withoutTemplates(md.renderer.rules.text);
      md.renderer.rules.code_inline = withoutTemplates(md.renderer.rules.code_inline);
    },
  },
  themeConfig: {
    nav: [
      { text: "Documents", link: "/docs/" },
      { text: "Changes", link: "/CHANGELOG" },
    ],
    sidebar: readNavigation(root, documents, forge),
    outline: [2, 3],
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: forge }],
  },
};

/** A link to a document leads to its page, a link to another file to the forge. */
function leadToPages({ tokens, env }) {
  const document = documentOf.get(env.relativePath);
  if (document === undefined) return;
  for (const token of tokens.flatMap(({ children }) => children ?? [])) {
    const href = token.type === "link_open" ? token.attrGet("href") : null;
    // Links within the page stay unchanged: the search finds headings by them.
    if (href === null || href.startsWith("#")) continue;
    const address = addressOf(documents, forge, resolveLink(document, href));
    if (address !== undefined) token.attrSet("href", address);
  }
}

function drawDiagrams(fence, escapeHtml) {
  return (tokens, index, ...rest) =>
    tokens[index].info.trim() === "mermaid"
      ? `<pre class="mermaid" v-pre>${escapeHtml(tokens[index].content)}</pre>`
      : fence(tokens, index, ...rest);
}

/** Vue would read {{ }} in a text as an expression. */
function withoutTemplates(render) {
  return (...args) => render(...args).replaceAll("{{", "&#123;&#123;");
}
