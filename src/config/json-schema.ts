import { z } from "zod";
import { configSchema } from "./schema.ts";

/** The configuration's JSON Schema (2020-12), made from the very schema that reads it. */
export function jsonSchema(): object {
  const schema = z.toJSONSchema(configSchema, { io: "input", target: "draft-2020-12" });
  return { ...schema, title: "Countersign configuration" };
}
