import * as z from "zod";
import type { Path } from "../diagnostics.ts";
import { configSchema } from "./schema.ts";

let schemaKnown: SchemaNode | undefined;

/** The configuration's JSON Schema (2020-12), made once from the very schema that reads it: that takes 5 ms. */
export function jsonSchema(): SchemaNode {
  schemaKnown ??= {
    ...(z.toJSONSchema(configSchema, { io: "input", target: "draft-2020-12" }) as SchemaNode),
    title: "Countersign configuration",
  };
  return schemaKnown;
}

/** A node of the JSON Schema, as far as it helps a person. */
export interface SchemaNode {
  readonly title?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly examples?: readonly unknown[];
}

/** What may stand at a path: one node, or several alternatives; none where nothing may. */
export function nodesAt(path: Path): readonly SchemaNode[] {
  return path.reduce<readonly SchemaNode[]>(
    (nodes, part) => nodes.flatMap((node) => within(node, part)).flatMap(alternatives),
    alternatives(jsonSchema()),
  );
}

function alternatives(node: SchemaNode): readonly SchemaNode[] {
  return node.anyOf?.flatMap(alternatives) ?? [node];
}

function within({ items, properties = {}, additionalProperties }: SchemaNode, part: string | number): SchemaNode[] {
  const child =
    typeof part === "number" ? items : (Object.getOwnPropertyDescriptor(properties, part)?.value as SchemaNode);
  if (child !== undefined) return [child];
  return typeof part === "string" && typeof additionalProperties === "object" ? [additionalProperties] : [];
}
