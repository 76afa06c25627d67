import { describe, expect, test } from "vitest";
import { jsonSchema, nodesAt, type SchemaNode } from "../../../src/config/form/schema.ts";
import { nearestName } from "../../../src/model/names.ts";

const schema = jsonSchema();
const sandbox = ["environments", "any"] as const;

describe("the JSON Schema", () => {
  test("describes every key", () => {
    const keys = keysOf(schema);
    expect(keys.length).toBeGreaterThan(80);
    expect(keys.filter(([, node]) => !("description" in node)).map(([path]) => path)).toEqual([]);
  });

  test.each([
    [["timeouts", "request"], { type: "string", default: "20s", pattern: expect.stringContaining("ms|s|m|h") }],
    [
      ["redis", "url"],
      { type: "string", pattern: expect.stringContaining("rediss?"), examples: ["rediss://cache:6379"] },
    ],
    [["redis", "lockNodes", 1], { type: "string", pattern: expect.stringContaining("unix:") }],
    [[...sandbox, "baseUrl"], { type: "string", pattern: expect.stringContaining("https?") }],
    [[...sandbox, "keepAlive", "requests"], { type: "integer", minimum: 1, maximum: 1_000_000 }],
    [[...sandbox, "sites", "S1", "children", "S2", "characters"], { enum: ["reject", "warn", "off"] }],
    [[...sandbox, "sites"], { propertyNames: { pattern: expect.stringContaining("^S") } }],
  ])("helps an editor at %j", (path, expected) => {
    const [node] = nodesAt(path);
    expect(node).toMatchObject(expected);
  });

  test("offers only defaults that a configuration may contain", () => {
    const withDefault = keysOf(schema).filter(([, node]) => "default" in node && "type" in node);
    const wrong = withDefault.filter(([, node]) => !isOfType((node as { default: unknown }).default, node));
    expect(wrong.map(([path]) => path)).toEqual([]);
  });
});

function isOfType(value: unknown, { type }: SchemaNode & { type?: string }): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "object") return typeof value === "object" && JSON.stringify(value) === "{}";
  return typeof value === (type === "integer" ? "number" : type);
}

test.each([
  ["clientID", "clientId"],
  ["enviroment", "environment"],
  ["HOSTS", "hosts"],
  ["callerz", "callers"],
  ["allers", "callers"],
  ["ballerz", undefined],
  ["something", undefined],
  ["", undefined],
])("for %j the nearest name is %s", (given, nearest) => {
  expect(nearestName(given, ["environment", "hosts", "callers", "clientId"])).toBe(nearest);
});

/** Every key with its node, however deep. */
function keysOf(node: SchemaNode, at = ""): [path: string, node: SchemaNode][] {
  const { properties = {}, additionalProperties, items, anyOf = [] } = node;
  const own = Object.entries(properties).flatMap(([name, child]): [string, SchemaNode][] => {
    const path = at === "" ? name : `${at}.${name}`;
    return [[path, child], ...keysOf(child, path)];
  });
  const inner = typeof additionalProperties === "object" ? keysOf(additionalProperties, `${at}.*`) : [];
  return [...own, ...inner, ...(items ? keysOf(items, `${at}[]`) : []), ...anyOf.flatMap((each) => keysOf(each, at))];
}
