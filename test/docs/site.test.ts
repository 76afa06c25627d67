import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { addressOf, findDocuments, pageOf, resolveLink, slugOf } from "../../scripts/site/documents.ts";
import { findEmptyPages } from "../../scripts/site/empty-pages.ts";
import { findUnlisted, readNavigation } from "../../scripts/site/navigation.ts";
import { failureCodes } from "../../src/model/errors.ts";
import { emptyFolder } from "../../testkit/empty-folder.ts";

// The web site that `npm run docs` makes: every document to which the README or docs/index.md leads, with docs/index.md as the
// navigation. .ci/run builds the site itself, since its generator is not among the project's packages.

const forge = "https://forge.example/project";

const project = {
  "README.md": "# Product\n\n![picture](docs/images/one.png) [changes](CHANGELOG.md) [code](src/main.ts)\n",
  "CHANGELOG.md": "# Changes\n",
  "docs/index.md":
    "# Documents\n\n## Learn\n\n* [Quick start](../README.md#quick-start): at once.\n\n## Look up\n\n" +
    "* [Commands](reference/cli.md), [metrics](reference/metrics.md).\n* [Chart](../chart), [Decisions](decisions), [Code](../src/main.ts)\n",
  "docs/reference/cli.md": "# Commands\n",
  "docs/reference/metrics.md": "# Metrics\n",
  "docs/decisions/0001-one.md": "# 1. One\n",
  "docs/decisions/0002-two.md": "# 2. Two\n",
  "docs/forgotten.md": "# Forgotten\n",
  "docs/images/one.png": "",
  "chart/README.md": "# Chart\n",
  "src/main.ts": "",
};

it("docs/index.md lists every document of docs/", () => {
  expect(findUnlisted(".")).toEqual([]);
});

it("a document that the index does not list is reported", () => {
  expect(findUnlisted(write(project))).toEqual(["docs/forgotten.md"]);
});

it("the site has a page for each document that a reader can reach by links, and no other", () => {
  const { pages, folders, images, missing } = findDocuments(write(project));
  expect(pages).toEqual([
    ...["CHANGELOG.md", "README.md", "chart/README.md", "docs/decisions/0001-one.md"],
    ...["docs/decisions/0002-two.md", "docs/index.md", "docs/reference/cli.md", "docs/reference/metrics.md"],
  ]);
  expect([...folders.keys()]).toEqual(["docs/decisions"]);
  expect(images).toEqual(["docs/images/one.png"]);
  expect(missing).toEqual([]);
});

it("links to missing files are reported", () => {
  const links = "[a](none.md) [b](../src/none.ts) [c](../src/main.ts) ![d](images/none.png)";
  const { missing } = findDocuments(write({ ...project, "docs/redis.md": links, "docs/index.md": "[r](redis.md)" }));
  expect(missing).toEqual(["none.md", "../src/none.ts", "images/none.png"].map((href) => `docs/redis.md: ${href}`));
});

it("the navigation is that of docs/index.md, in its order", () => {
  const root = write(project);
  expect(readNavigation(root, findDocuments(root), forge)).toEqual([
    { text: "Learn", collapsed: false, items: [{ text: "Quick start", link: "/readme#quick-start" }] },
    {
      text: "Look up",
      collapsed: false,
      items: [
        { text: "Commands", link: "/docs/reference/cli" },
        { text: "Metrics", link: "/docs/reference/metrics" },
        { text: "Chart", link: "/chart/" },
        {
          text: "Decisions",
          link: "/docs/decisions/",
          collapsed: true,
          items: [
            { text: "1. One", link: "/docs/decisions/0001-one" },
            { text: "2. Two", link: "/docs/decisions/0002-two" },
          ],
        },
        { text: "Code", link: `${forge}/blob/HEAD/src/main.ts` },
      ],
    },
  ]);
});

it.each([
  { from: "docs/index.md", href: "reference/cli.md#options", address: "/docs/reference/cli.md#options" },
  { from: "docs/reference/cli.md", href: "../../README.md#quick-start", address: "/readme.md#quick-start" },
  { from: "docs/index.md", href: "#learn", address: "/docs/index.md#learn" },
  { from: "docs/index.md", href: "../chart/", address: "/chart/index.md" },
  { from: "README.md", href: "docs/decisions", address: "/docs/decisions/index.md" },
  { from: "docs/index.md", href: "../src/main.ts#L3", address: `${forge}/blob/HEAD/src/main.ts#L3` },
  { from: "README.md", href: "src", address: `${forge}/blob/HEAD/src` },
  { from: "README.md", href: "https://example.com/a.md", address: undefined },
  { from: "README.md", href: "mailto:someone@example.com", address: undefined },
])("a link in $from to $href leads to $address", ({ from, href, address }) => {
  expect(addressOf(findDocuments(write(project)), forge, resolveLink(from, href))).toBe(address);
});

it("the front page has README's two commands and its pictures", () => {
  const [front, readme] = ["scripts/site/front-page.md", "README.md"].map((path) => readFileSync(path, "utf8"));
  for (const command of ["npm ci && npm run demo", "npm ci && npm test"]) {
    for (const page of [front, readme]) expect(page).toMatch(new RegExp(`^${command} `, "m"));
  }
  const images = [...(front ?? "").matchAll(/\]\(\.\.\/\.\.\/(docs\/images\/[\w.-]+)\)/g)].map(([, path]) => path);
  expect(images.length).toBeGreaterThan(1);
  expect(images.filter((path) => !readme?.includes(`](${path})`))).toEqual([]);
});

it("anchors are those that code forges make", () => {
  expect(slugOf("May I send it again?")).toBe("may-i-send-it-again");
  expect(slugOf("`Countersign-Once` and 5.2 Größe")).toBe("countersign-once-and-52-größe");
  expect(pageOf("helm/countersign/README.md")).toBe("helm/countersign/index.md");
});

it("the site has an anchor for each failure, to which the answer's `type` leads", () => {
  const page = "docs/reference/errors.md";
  expect(findDocuments(".").pages.map(pageOf)).toContain(page);
  const anchors = [...readFileSync(page, "utf8").matchAll(/^## (.+)$/gm)].map(([, heading = ""]) => slugOf(heading));
  expect(failureCodes.filter((code) => !anchors.includes(code))).toEqual([]);
});

it("pages that were not rendered are reported", () => {
  const site = write({ "404.html": "", "index.html": '<h1 id="a">A</h1>', "docs/a.html": "<main></main>" });
  expect(findEmptyPages(site)).toEqual(["docs/a.html"]);
});

function write(files: Readonly<Record<string, string>>): string {
  const folder = emptyFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}
