import type { Bind } from "../model/bind.ts";
import { readDocument } from "./document.ts";
import { type Read, readBind } from "./values.ts";

/** Where the admin port is by a configuration's text; nothing else of it is judged, so it may be wrong elsewhere. */
export function readAdmin(text: string): Read<Bind> {
  const { value, yamlProblems } = readDocument(text);
  if (yamlProblems.length > 0) return { fix: "correct the YAML" };
  const bind = at(at(value, "admin"), "bind");
  return typeof bind === "string" ? readBind(bind) : { fix: 'write admin: { bind: ":7412" }' };
}

function at(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}
