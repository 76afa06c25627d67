/**
 * The chart as a package: Chart.yaml has the annotations of Artifact Hub in their documented forms, and its links into this repository
 * work; the values are described alike in three places; the chart is complete in its own folder, so that it can be copied, packaged
 * and vendored; it installs as the documents type it; and its notes have the next steps after `helm install`.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isMap, type Node, type Pair, parse, parseDocument, type YAMLMap } from "yaml";
import { z } from "zod";
import { jsonSchema } from "../../../src/config/form/schema.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { openCharts, set, setJson, values } from "./charts.ts";
import { parse as parseAll } from "./manifests.ts";
import { run, succeed, withTools } from "./tools.ts";

const test = withTools("helm");
const folder = "helm/countersign";
const chart = parse(readFileSync(`${folder}/Chart.yaml`, "utf8"));
const product = JSON.parse(readFileSync("package.json", "utf8"));

const url = z.url({ protocol: /^https$/ });
const yes = z.enum(["true", "false"]);
const link = z.strictObject({ name: z.string().min(1), url });

/** https://artifacthub.io/docs/topics/annotations/helm; `signKey` has to wait for a key. */
const annotations = z.strictObject({
  "artifacthub.io/alternativeName": z.string(),
  "artifacthub.io/category": z.literal("security"),
  "artifacthub.io/license": z.literal(product.license),
  "artifacthub.io/operator": yes,
  "artifacthub.io/prerelease": yes,
  "artifacthub.io/containsSecurityUpdates": yes,
  "artifacthub.io/images": listOf(
    z.strictObject({ name: z.string(), image: z.string(), platforms: z.array(z.string().regex(/^linux\/\w+$/)) }),
  ),
  "artifacthub.io/links": listOf(link),
  "artifacthub.io/screenshots": listOf(z.strictObject({ title: z.string(), url })),
  "artifacthub.io/recommendations": listOf(z.strictObject({ url })),
  "artifacthub.io/changes": listOf(
    z.strictObject({
      kind: z.enum(["added", "changed", "deprecated", "removed", "fixed", "security"]),
      description: z.string(),
      links: z.array(link).optional(),
    }),
  ),
});

it("names the chart's maintainers and its sources", () => {
  const { home, sources, icon, maintainers } = chart;
  const all = z.strictObject({ home: url, sources: z.array(url).min(1), icon: url, maintainers: z.array(link).min(1) });
  expect(() => all.parse({ home, sources, icon, maintainers })).not.toThrow();
  expect(product.repository.url).toBe(`git+${home}.git`);
  expect(sources).toEqual([home]);
});

it("has annotations in Artifact Hub's forms, for this version", () => {
  const read = annotations.parse(chart.annotations);
  const alternative = read["artifacthub.io/alternativeName"];
  expect(alternative.includes(chart.name) || chart.name.includes(alternative)).toBe(true);
  for (const { image } of read["artifacthub.io/images"]) expect(image).toMatch(new RegExp(`:${chart.appVersion}$`));
});

it("links to files that this repository has", () => {
  const links = [...JSON.stringify(chart).matchAll(/(?:\/blob\/main\/|\/countersign\/main\/)([\w./-]+)/g)];
  expect(links.length).toBeGreaterThan(4);
  for (const [, file = ""] of links) expect([file, existsSync(file)]).toEqual([file, true]);
});

it("has an icon that is an image of its own, without scripts or anything from elsewhere", () => {
  const svg = readFileSync("docs/images/icon.svg", "utf8");
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" viewBox="0 0 256 256"/);
  expect(svg).not.toMatch(/script|href|url\(|foreignObject/);
});

// The values are described in three places: values.yaml with its comments is the source, the README's table is made from it, and
// the schema has its `config` from the product. `npx vitest run FILE -u` writes the table and the schema.

const document = parseDocument(readFileSync(`${folder}/values.yaml`, "utf8"));
const schema = JSON.parse(readFileSync(`${folder}/values.schema.json`, "utf8"));

/**
 * A schema of which Helm tells a mistake once and where it is: each `anyOf` is a choice by type or by a required key. What the templates
 * refuse with a better sentence, it allows: a secret in the values, a duration without its unit.
 */
function inOneWay(node: typeof schema): typeof schema {
  if (Array.isArray(node)) return node.map(inOneWay);
  if (typeof node !== "object" || node === null) return node;
  const { anyOf, ...rest } = Object.fromEntries(Object.entries(node).map(([key, inner]) => [key, inOneWay(inner)]));
  if (rest["pattern"] === "^(\\d{1,9})(ms|s|m|h)$") return { ...rest, type: ["string", "number"] };
  if (!Array.isArray(anyOf)) return rest;
  const isSecret = ["file", "env"].every((key) => anyOf.some(({ required }) => `${required}` === key));
  const branches = isSecret ? [{ type: "string" }, ...anyOf] : anyOf;
  const countOf = (key: string) => branches.filter(({ required = [] }) => required.includes(key)).length;
  const keysOf = ({ required = [] }: typeof schema) => required.filter((key: string) => countOf(key) === 1);
  const rank = (branch: typeof schema) => (branch.type === "object" ? keysOf(branch).length : branches.length);
  const [fallback, ...others] = branches.toSorted((one, other) => rank(one) - rank(other));
  const choose = (otherwise: object, branch: typeof schema) => {
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    return { if: { type: branch.type, required: keysOf(branch) }, then: branch, else: otherwise };
  };
  return { ...rest, ...others.reduce(choose, fallback) };
}

interface Described {
  readonly key: string;
  readonly fallback: unknown;
  readonly description: string;
}

/** Keys with a comment that begins with "-- ", as helm-docs reads them. */
function* describedKeys(map: YAMLMap, prefix = ""): Generator<Described> {
  for (const { key, value } of map.items as Pair<{ value: string; commentBefore?: string }, Node>[]) {
    const name = `${prefix}${key.value}`;
    // The yaml package attaches the comment before a map's first key to the map.
    const before = key === map.items[0]?.key ? (map.commentBefore ?? key.commentBefore) : key.commentBefore;
    const [, description] = /(?:^|\n) -- ([\s\S]*)$/.exec(before ?? "") ?? [];
    if (description !== undefined) {
      yield { key: name, fallback: value?.toJS(document), description: description.replaceAll(/\n ?/g, " ") };
    } else if (isMap(value)) {
      yield* describedKeys(value, `${name}.`);
    } else {
      throw new Error(`values.yaml does not say what ${name} is`);
    }
  }
}

const described = [...describedKeys(document.contents as YAMLMap)];

it("the README's table has the descriptions of values.yaml", async () => {
  const rows = described.map(({ key, fallback, description }) => {
    return `| \`${key}\` | \`${JSON.stringify(fallback)}\` | ${description.replaceAll("|", "\\|")} |`;
  });
  const table = ["| value | default | what it is |", "|---|---|---|", ...rows].join("\n");
  const readme = readFileSync(`${folder}/README.md`, "utf8");
  const made = readme.replace(
    /(<!-- begin values -->\n)[\s\S]*?(<!-- end values -->)/,
    (_, begin, end) => `${begin}${table}\n${end}`,
  );
  expect(made).toContain(table);
  await expect(made).toMatchFileSnapshot(`../../../${folder}/README.md`);
});

it("the schema has exactly the keys of values.yaml, and those that Helm adds", () => {
  const ofHelm = ["global", "enabled"];
  function* keysOf({ properties, additionalProperties }: typeof schema, prefix = ""): Generator<string> {
    if (properties === undefined || prefix === "config." || prefix === "secrets.") return;
    expect(additionalProperties).toBe(false);
    for (const [name, inner] of Object.entries<typeof schema>(properties)) {
      if (inner.properties === undefined || name === "config") yield `${prefix}${name}`;
      else yield* keysOf(inner, `${prefix}${name}.`);
    }
  }
  const known = [...keysOf(schema)].filter((key) => !ofHelm.includes(key));
  expect(known.sort()).toEqual(described.map(({ key }) => key).sort());
});

it("the schema has the descriptions of values.yaml, and the product's own config without the keys that the chart sets", async () => {
  const { $schema: _, title: _title, required: _required, ...own } = jsonSchema() as typeof schema;
  const { admin: _admin, status: _status, ...properties } = own.properties;
  const { callers, mtls } = own.properties.listeners.items.properties;
  const made = structuredClone(schema);
  made.properties.config = inOneWay({ ...own, properties: { ...properties, admin: {}, status: {} } });
  Object.assign(made.properties.gateway.properties.listeners.items.properties, inOneWay({ callers, mtls }));
  for (const { key, description } of described) {
    let node = made;
    for (const name of key.split(".")) node = node.properties[name];
    if (key !== "config") node.description = description;
  }
  expect(JSON.stringify(made)).not.toContain("#/$defs/__");
  const format = ["format", "--stdin-file-path", "values.schema.json"];
  const formatted = execFileSync("node_modules/.bin/biome", format, { input: JSON.stringify(made), encoding: "utf8" });
  await expect(formatted).toMatchFileSnapshot(`../../../${folder}/values.schema.json`);
});

it("the chart, the image and the product have one version", () => {
  const { version } = product;
  const example = parse(readFileSync("helm/example-app/Chart.yaml", "utf8"));
  expect([chart.version, chart.appVersion]).toEqual([version, version]);
  expect(example.dependencies).toEqual([{ name: "countersign", version, repository: "file://../countersign" }]);
});

test("renders the same from a plain copy and from a package", () => {
  const own = emptyFolder();
  const args = ["--namespace", "shop", "--values", `${folder}/ci/gateway-values.yaml`];
  // As `cp -R` copies: a symbolic link stays a link, and leads nowhere.
  cpSync(folder, join(own, "copy"), { recursive: true, verbatimSymlinks: true });
  succeed("helm", ["package", join(own, "copy"), "--destination", own]);
  const [copied, packaged] = ["copy", `countersign-${product.version}.tgz`].map((name) => {
    return run("helm", ["template", "demo", join(own, name), ...args]);
  });
  expect(copied).toMatchObject({ exitCode: 0, stderr: "" });
  expect(packaged).toEqual(copied);
  const kinds = parseAll(copied?.stdout ?? "").map(({ kind }) => kind);
  expect(kinds).toEqual(expect.arrayContaining(["PrometheusRule", "ConfigMap", "Deployment"]));
});

const pages = ["README.md", `${folder}/README.md`, ...readdirSync("docs").map((name) => `docs/${name}`)];
const installs = pages
  .filter((page) => page.endsWith(".md"))
  .flatMap((page) => {
    const commands = readFileSync(page, "utf8")
      .replaceAll("\\\n", "")
      .matchAll(/helm install (\w+ (?:\.\/)?helm\/[^`\n]*)/g);
    return [...commands].map(([, args = ""]) => ({ page, args }));
  });

test.each(installs)("$page: `helm install $args` works as it is typed", ({ args }) => {
  expect(installs.length).toBeGreaterThan(3);
  const rendered = succeed("helm", ["template", ...args.split(/\s+/), "--kube-version", "1.36"]);
  // Without a registry nodes would pull from docker.io/library, where no countersign is.
  const images = [...rendered.matchAll(/([\w./-]*countersign):\d/g)].map(([, image]) => image);
  expect(new Set(images)).toEqual(new Set(args.startsWith("monitoring ") ? [] : ["REGISTRY/countersign"]));
});

/** A label's value: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels. */
const label = z.string().regex(/^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/);

test("its labels are valid, whatever package, image, release and namespace are called", () => {
  const own = emptyFolder();
  succeed("helm", ["package", folder, "--version", `${product.version}+build.5`, "--destination", own]);
  const tag = `image.tag=${"a".repeat(62)}.${"b".repeat(60)}`;
  for (const mode of [values.sidecar, values.gateway]) {
    const args = ["template", "1234", join(own, `countersign-${product.version}+build.5.tgz`), ...mode, "--set", tag];
    args.push("--namespace", "42");
    for (const { metadata, spec } of parseAll(succeed("helm", args))) {
      const all = { ...metadata.labels, ...spec?.template?.metadata?.labels };
      expect(z.record(z.string(), label).safeParse(all).error).toBeUndefined();
      expect(metadata.namespace).toBe("42");
    }
  }
});

const charts = openCharts();

/** Helm prints notes only with a cluster, so a template prints them here. */
function notesOf(args: readonly string[]): string {
  const copy = charts.path("countersign");
  copyFileSync(join(copy, "templates/NOTES.txt"), join(copy, "notes"));
  writeFileSync(join(copy, "templates/shown.yaml"), 'kind: Notes\ntext: {{ tpl (.Files.Get "notes") . | toJson }}\n');
  return charts.objects("countersign", [...args, "--show-only", "templates/shown.yaml"])[0].text;
}

test("the notes name the gateway's addresses, and the command that examines the gateway", () => {
  const notes = notesOf(values.gateway);
  expect(notes).toContain("  https://demo-countersign.shop:7411   (production)\n");
  expect(notes).toContain("  http://demo-countersign.shop:7421   (sandbox)\n");
  expect(notes).toContain(
    "  kubectl --namespace shop exec deploy/demo-countersign -c countersign -- countersign doctor\n",
  );
  expect(notes).toContain("  kubectl --namespace shop port-forward deploy/demo-countersign 7413");
  expect(notes).not.toContain("tokens of its own");
});

test("the notes say that with tokens in memory each gateway pod has its own tokens", () => {
  const notes = notesOf(values.plain);
  expect(notes).toContain("Each pod fetches tokens of its own");
});

test("the notes name the sidecar's address, and the command that examines the sidecar", () => {
  const notes = notesOf(values.sidecar);
  expect(notes).toContain("  http://127.0.0.1:7411   (sandbox)\n");
  expect(notes).toContain("  kubectl --namespace shop exec POD -c countersign -- countersign doctor\n");
  expect(notes).toContain("  kubectl --namespace shop port-forward POD 7413");
});

test.each([
  { bind: "127.0.0.1:9000", shown: "http://127.0.0.1:9000" },
  { bind: ":9000", shown: "http://127.0.0.1:9000" },
  { bind: "unix:/run/countersign/s.sock", shown: "unix:/run/countersign/s.sock" },
])("the notes name the sidecar's own listener $bind", ({ bind, shown }) => {
  const listener = setJson("config.listeners", [{ bind, environment: "sandbox", callers: "anyone" }]);
  const notes = notesOf([...values.sidecar, ...listener]);
  expect(notes).toContain(`  ${shown}   (sandbox)\n`);
  expect(notes).not.toContain("7411");
});

test("the notes of a release that only monitors name no pod", () => {
  const notes = notesOf(set("podMonitor.enabled=true"));
  expect(notes).toContain("This release has no pods: it monitors those of other releases. Leave their podMonitor");
  expect(notes).not.toContain("kubectl");
});

/** A list that is written as YAML in a string. */
function listOf<T extends z.ZodType>(item: T) {
  return z
    .string()
    .transform((text) => parse(text))
    .pipe(z.array(item).min(1));
}
