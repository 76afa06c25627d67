import { jsonSchema } from "./json-schema.ts";
import type { Path } from "./problem.ts";

/** A node of the JSON Schema, as far as it helps a person. */
export interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly examples?: readonly unknown[];
}

/** What may stand at a place: one node, or several alternatives; none where nothing may. */
export function nodesAt(path: Path): readonly SchemaNode[] {
  return path.reduce<readonly SchemaNode[]>(
    (nodes, part) => nodes.flatMap((node) => within(node, part)).flatMap(alternatives),
    alternatives(jsonSchema() as SchemaNode),
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
