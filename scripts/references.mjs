// Writes the reference pages from the built code, and llms.txt from docs/index.md; with --check it only says whether they are up to date.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, relative } from "node:path";
import { createMetrics } from "../dist/adapters/stats/metrics.js";
import { createCommands } from "../dist/cli/program.js";
import { jsonSchema } from "../dist/config/form/schema.js";
import { failures } from "../dist/model/errors.js";
import { inSentences } from "../dist/model/service-answer.js";
import { describeForModels } from "./site/llms.ts";

const code = (text) => `\`${text}\``;
const item = (name, facts, text) => `* ${[code(name), ...facts].join(", ")}: ${text}`;
const interfacePage = "docs/service-interface.md";

/** The page's section numbers, with the anchors that forges make of the headings. */
const anchors = new Map(
  [...readFileSync(interfacePage, "utf8").matchAll(/^##+ ((\d+(?:\.\d+)?)\.? .*)$/gm)].map(([, heading, number]) => [
    number,
    heading
      .toLowerCase()
      .replaceAll(/[^a-z0-9 -]/g, "")
      .replaceAll(" ", "-"),
  ]),
);

/** Makes "spec 5.2" a link to its section, and "docs/callers.md" a link to that page. */
function linkCitations(text, page) {
  const to = (document) => relative(dirname(page), document);
  return text
    .replaceAll(/\bspec (\d+(?:\.\d+)?)/g, (citation, number) => {
      const anchor = anchors.get(number);
      if (anchor === undefined) throw new Error(`${interfacePage} has no section ${number}`);
      return `[${citation}](${to(interfacePage)}#${anchor})`;
    })
    .replaceAll(/\bdocs\/[\w-]+\.md\b/g, (document) => `[${document}](${to(document)})`);
}

function describeFailures() {
  const sections = Object.entries(failures).map(([name, { status, outcomes, title, meaning, fix }]) => {
    const statuses = { target_not_allowed: "400 or 403", guarantee_not_given: "400 or 425" }[name] ?? status;
    return `## ${code(name)}\n\n**${statuses}, ${outcomes.map(code).join(" or ")}: ${title}.** ${inSentences({ detail: meaning, fix })}`;
  });
  return sections.join("\n\n");
}

/** Our own metrics; the metrics of the Node.js process come from prom-client. */
async function describeMetrics() {
  const metrics = createMetrics()
    .registry.getMetricsAsArray()
    .filter(({ name }) => name.startsWith("countersign_"));
  return metrics
    .map(({ name, type, help, labelNames }) => item(name, [[type, ...labelNames.map(code)].join(" ")], help))
    .join("\n");
}

async function describeCommands() {
  return (await createCommands())
    .map((command) => {
      const options = command.options.map(({ flags }) => code(flags)).join(" ");
      const name = `countersign ${command.name()}`;
      return item(name, [], options === "" ? command.description() : `${command.description()} Options: ${options}`);
    })
    .join("\n");
}

/**
 * Every key, in the order of the schema; `<name>` stands for a name of the user's choice, `[]` for a list's items. It does
 * not descend into keys that are described elsewhere: secrets (`{ file }` or `{ env }`), children, which are sites, and a
 * group of keys that came before (`described` says where).
 */
function* walk(schema, path, isRequired, described) {
  const keys = schema.properties === undefined ? undefined : JSON.stringify([schema.properties, schema.required]);
  const before = described.get(keys);
  if (path !== "") yield { path, schema, isRequired, before };
  if (before !== undefined || isSecretSource(schema) || path.endsWith(".children")) return;
  if (keys !== undefined) described.set(keys, path);
  const shapes = schema.anyOf ?? schema.oneOf ?? [schema];
  for (const shape of shapes) {
    for (const [key, value] of Object.entries(shape.properties ?? {})) {
      const isAlways = shapes.length === 1 && shape.required?.includes(key);
      yield* walk(value, path === "" ? key : `${path}.${key}`, isAlways, described);
    }
    if (typeof shape.items === "object") yield* inside(shape.items, `${path}[]`, described);
    if (typeof shape.additionalProperties === "object")
      yield* inside(shape.additionalProperties, `${path}.<name>`, described);
  }
}

function isSecretSource({ anyOf = [] }) {
  return anyOf.length === 2 && anyOf.every(({ properties = {} }) => "file" in properties || "env" in properties);
}

/** An item or a named entry has no row of its own; its keys have. */
function* inside(schema, path, described) {
  for (const found of walk(schema, path, false, described)) if (found.path !== path) yield found;
}

function describeConfiguration() {
  const items = new Map();
  for (const { path, schema, isRequired, before } of walk(jsonSchema(), "", false, new Map())) {
    const isGroup = schema.properties !== undefined;
    const fallback = schema.default === undefined || isGroup ? [] : [code(JSON.stringify(schema.default))];
    if (items.has(path)) continue;
    const keys = before === undefined || before === path ? "" : ` Keys: those of ${code(before)}.`;
    items.set(path, item(path, isRequired ? ["required"] : fallback, `${schema.description ?? ""}${keys}`));
  }
  return [...items.values()].join("\n");
}

const pages = {
  "docs/reference/cli.md": { commands: await describeCommands() },
  "docs/reference/config.md": { configuration: describeConfiguration() },
  "docs/reference/errors.md": { failures: describeFailures() },
  "docs/reference/metrics.md": { metrics: await describeMetrics() },
};
for (const [page, sections] of Object.entries(pages)) {
  const before = readFileSync(page, "utf8");
  let after = before;
  for (const [name, text] of Object.entries(sections)) {
    const section = new RegExp(`(<!-- begin ${name} -->\n)[\\s\\S]*?(<!-- end ${name} -->)`);
    if (!section.test(after)) throw new Error(`${page} has no section ${name}`);
    after = after.replace(section, (_, begin, end) => `${begin}${linkCitations(text, page)}\n${end}`);
  }
  writeOrCheck(page, before, after);
}
writeOrCheck("llms.txt", existsSync("llms.txt") ? readFileSync("llms.txt", "utf8") : "", describeForModels("."));

function writeOrCheck(page, before, after) {
  if (!process.argv.includes("--check")) writeFileSync(page, after);
  else if (after !== before) {
    process.stderr.write(`${page}'s references are not what the code says; run: npm run references\n`);
    process.exitCode = 1;
  }
}
