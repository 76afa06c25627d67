import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { isMap, type Node, type Pair, parse, parseDocument, type YAMLMap } from "yaml";
import { jsonSchema } from "../../../src/config/form/schema.ts";

// The values are described in three places: values.yaml with its comments comes first, the README's table is made from it, and
// the schema takes its `config` from the product. `npx vitest run FILE -u` writes what follows from them.

const folder = "helm/countersign";
const document = parseDocument(readFileSync(`${folder}/values.yaml`, "utf8"));
const schema = JSON.parse(readFileSync(`${folder}/values.schema.json`, "utf8"));

interface Described {
  readonly key: string;
  readonly fallback: unknown;
  readonly description: string;
}

/** Keys with a comment that begins with "-- ", as helm-docs reads them. */
function* describedKeys(map: YAMLMap, prefix = ""): Generator<Described> {
  for (const { key, value } of map.items as Pair<{ value: string; commentBefore?: string }, Node>[]) {
    const name = `${prefix}${key.value}`;
    // The yaml package gives the comment before a map's first key to the map.
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

it("the README's table is what values.yaml says", async () => {
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

it("the schema knows exactly the keys of values.yaml, and what Helm adds", () => {
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

it("the schema says of each value what values.yaml says, and has the product's own config, without what the chart decides", async () => {
  const { $schema: _, title: _title, required: _required, ...own } = jsonSchema() as typeof schema;
  const { admin: _admin, status: _status, ...properties } = own.properties;
  const { callers, mtls } = own.properties.listeners.items.properties;
  const made = structuredClone(schema);
  made.properties.config = { ...own, properties };
  Object.assign(made.properties.gateway.properties.listeners.items.properties, { callers, mtls });
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
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  const chart = parse(readFileSync(`${folder}/Chart.yaml`, "utf8"));
  const example = parse(readFileSync("helm/example-app/Chart.yaml", "utf8"));
  expect([chart.version, chart.appVersion]).toEqual([version, version]);
  expect(example.dependencies).toEqual([{ name: "countersign", version, repository: "file://../countersign" }]);
});
