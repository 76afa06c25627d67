import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { slugOf } from "../../scripts/site/documents.ts";
import { readDocument } from "../../src/config/files/yaml.ts";
import { configSchema } from "../../src/config/form/schema.ts";
import { failureCodes } from "../../src/model/errors.ts";

const readme = readFileSync("README.md", "utf8");

/** Every document of the project; its links must have a target. */
const documents = listFiles("*.md");

it("docs/reference has the texts that the code generates", () => {
  const command = ["--import", "tsx", "scripts/references.mjs", "--check"];
  const { status, stderr } = spawnSync(process.execPath, command, { encoding: "utf8" });
  expect(stderr).toBe("");
  expect(status).toBe(0);
});

it.each(documents)("a document has only links with a target: %s", (document) => {
  const text = readFileSync(document, "utf8");
  const links = [...text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)/g)];
  const lost = links.filter(([, path = "", anchor]) => {
    const target = path === "" ? document : join(dirname(document), path);
    if (!existsSync(target)) return true;
    return anchor !== undefined && target.endsWith(".md") && !anchorsOf(target).has(anchor);
  });
  expect(lost.map(([link]) => link)).toEqual([]);
});

it.each(documents.filter((document) => document !== "CHANGELOG.md"))(
  "a document names only files that exist: %s",
  (document) => {
    const named = readFileSync(document, "utf8").matchAll(
      /`((?:src|test|testkit|scripts|bench|simulator|deploy|helm|docs)\/[\w./-]+)`/g,
    );
    expect([...named].map(([, path = ""]) => path).filter((path) => !existsSync(path))).toEqual([]);
  },
);

it("every cited section of the specification exists in docs/service-interface.md", () => {
  const headings = readFileSync("docs/service-interface.md", "utf8").matchAll(/^##+ (\d+(?:\.\d+)?)/gm);
  const sections = new Set([...headings].map(([, number]) => number));
  const citing = listFiles("src", "docs", "helm", "README.md", "CONTRIBUTING.md").filter((file) =>
    /\.(ts|md|ya?ml|json)$/.test(file),
  );
  const lost = citing.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/\bspec (\d+(?:\.\d+)?)/g)]
      .filter(([, number]) => !sections.has(number))
      .map(([citation]) => `${file}: ${citation}`),
  );
  expect(sections.size).toBeGreaterThan(15);
  expect(lost).toEqual([]);
});

it("every citation in a document links to its section", () => {
  const bare = documents
    .filter((document) => document !== "docs/service-interface.md" && document !== "CONTRIBUTING.md")
    .flatMap((document) =>
      [...readFileSync(document, "utf8").matchAll(/(?<!\[)\bspec \d[\d.]*/g)].map(([text]) => `${document}: ${text}`),
    );
  expect(bare).toEqual([]);
});

describe("the table of a request's path", () => {
  const page = "docs/architecture.md";
  const rows = readFileSync(page, "utf8")
    .split("\n")
    .filter((line) => /^\| .* \| \[`src\//.test(line));

  it("has each failure code", () => {
    expect(rows.length).toBeGreaterThan(10);
    const named = new Set(
      rows.flatMap((row) => [...(row.split("|")[3] ?? "").matchAll(/`(\w+)`/g)].map(([, code]) => code)),
    );
    expect([...named].filter((code) => !(failureCodes as readonly string[]).includes(code ?? ""))).toEqual([]);
    expect(failureCodes.filter((code) => !named.has(code))).toEqual([]);
  });

  it("names, for each step, only failures that its file or a file called by it mentions", () => {
    for (const row of rows) {
      const [, link = ""] = /\(([^)]+)\)/.exec(row) ?? [];
      const file = join(dirname(page), link);
      const codes = [...(row.split("|")[3] ?? "").matchAll(/`(\w+)`/g)].map(([, code = ""]) => code);
      const missing = codes.filter((code) => !mentions(file, code));
      expect({ file, missing }).toEqual({ file, missing: [] });
    }
  });
});

it("the README states the two commands, each on one line, as CI types them first", () => {
  // The demo reads what is pasted behind it, so that each command has a block of its own.
  const blocks = [...readme.matchAll(/```sh\n(npm[\s\S]*?)```/g)].slice(0, 2);
  const commands = blocks.map(([, typed = ""]) => typed.trim());
  expect(commands).toEqual(["npm ci && npm run demo", "npm test"]);
  const first = readFileSync(".ci/first-contact", "utf8");
  for (const command of commands) expect(first).toContain(`time (${command} -- --`);
  expect(readme).toContain("`npm run demo -- --once` ends by itself");
  expect(first).toContain("npm run demo -- --once)");
});

it("the README is short", () => {
  expect(readme.trimEnd().split("\n").length).toBeLessThanOrEqual(150);
});

it("the README shows a configuration that the schema accepts", () => {
  const [, yaml = ""] = /```yaml\n([\s\S]*?)```/.exec(readme) ?? [];
  expect(configSchema.safeParse(readDocument(yaml).value).error?.issues ?? []).toEqual([]);
});

function listFiles(...patterns: string[]): string[] {
  const { stdout } = spawnSync("git", ["ls-files", ...patterns], { encoding: "utf8" });
  return stdout.split("\n").filter((file) => file !== "" && existsSync(file));
}

/** The anchors that code forges give to a document's headings. */
function anchorsOf(document: string): ReadonlySet<string> {
  const headings = readFileSync(document, "utf8").matchAll(/^#+ (.*)$/gm);
  return new Set([...headings].map(([, heading = ""]) => slugOf(heading)));
}

/** Whether the step's file, or a file that it calls, mentions the code. */
function mentions(file: string, code: string): boolean {
  const folder = dirname(file);
  const text = readFileSync(file, "utf8");
  const beside = [...text.matchAll(/from "\.\/([^"]+)"/g)].map(([, name = ""]) => join(folder, name));
  const elsewhere: Readonly<Record<string, readonly string[]>> = {
    "src/serving/forward.ts": ["src/adapters/http-client/attempt.ts", "src/adapters/http-client/transport-error.ts"],
    "src/callbacks/parameters.ts": ["src/parameters/parameters.ts"],
  };
  const paths = [file, ...beside, ...(elsewhere[file] ?? [])];
  return paths.some((path) => readFileSync(path, "utf8").includes(`"${code}"`));
}
