import { ProxyError } from "../model/errors.ts";
import { JsonCursor } from "./json-cursor.ts";
import { type Kind, kindAhead, readName, readScalar } from "./json-value.ts";
import { isAllowedName, nameInLog, showName } from "./parameter-name.ts";
import { skipNested } from "./skip-nested.ts";
import { decodeUtf8 } from "./utf8.ts";

/** A value as the caller gave it. */
export interface Parameter {
  readonly kind: "string" | "number" | "boolean";
  /** A string unescaped; a number exactly as written, e.g. `1.50e1`; `true` or `false`. */
  readonly text: string;
}

/** In the caller's order. */
export type Parameters = ReadonlyMap<string, Parameter>;

/** One `"name": value` of the body and where its two halves begin; the text of a nested value is not kept. */
interface Member {
  readonly name: string;
  readonly nameAt: number;
  readonly kind: Kind;
  readonly text: string;
  readonly valueAt: number;
}

const kindInWords = {
  string: "a string",
  number: "a number",
  boolean: "a boolean",
  null: "null",
  object: "an object",
  array: "an array",
} as const satisfies Record<Kind, string>;

/**
 * Reads a body: one flat JSON object in UTF-8 (spec 2.1, RFC 8259). A text that is not JSON is always refused as such;
 * of all else that is wrong, the first in the order of the text is reported.
 * @throws ProxyError body_not_json, duplicate_parameter, name_not_allowed, null_value, nested_value
 */
export function readParameters(body: Uint8Array): Parameters {
  const json = new JsonCursor(decodeUtf8(body));
  const parameters = new Map<string, Parameter>();
  let finding: ProxyError | undefined;
  for (const member of readMembers(json)) {
    finding ??= judgeName(member, parameters, json) ?? judgeValue(member, json);
    if (isPlain(member)) parameters.set(member.name, { kind: member.kind, text: member.text });
  }
  if (finding !== undefined) throw finding;
  return parameters;
}

/** The members of the one object that the whole text is. */
function* readMembers(json: JsonCursor): Generator<Member, void> {
  const kind = kindAhead(json);
  if (kind !== "object") throw refuse("body_not_json", `The body is ${kindInWords[kind]}, not a JSON object`);
  json.take("{");
  if (!json.take("}")) {
    do yield readMember(json);
    while (json.take(","));
    if (!json.take("}")) throw json.fail('expected "," or "}"');
  }
  json.skipSpace();
  if (json.next !== "") throw json.fail("expected nothing after the object");
}

function readMember(json: JsonCursor): Member {
  json.skipSpace();
  const nameAt = json.at;
  const name = readName(json);
  const kind = kindAhead(json);
  const valueAt = json.at;
  if (kind !== "object" && kind !== "array") return { name, nameAt, kind, text: readScalar(json), valueAt };
  skipNested(json);
  return { name, nameAt, kind, text: "", valueAt };
}

function isPlain(member: Member): member is Member & Parameter {
  return member.kind === "string" || member.kind === "number" || member.kind === "boolean";
}

function judgeName({ name, nameAt }: Member, earlier: Parameters, json: JsonCursor): ProxyError | undefined {
  if (!isAllowedName(name)) {
    const where = `The name ${showName(name)} at character ${json.characterAt(nameAt)}`;
    return refuse("name_not_allowed", `${where} is not allowed: a name is 1 to 256 of A-Z a-z 0-9 _ . and -`, name);
  }
  if (earlier.has(name)) {
    const where = `${showName(name)} is given twice, again at character ${json.characterAt(nameAt)}`;
    return refuse("duplicate_parameter", `The parameter ${where}; send it once`, name);
  }
  return undefined;
}

function judgeValue({ name, kind, valueAt }: Member, json: JsonCursor): ProxyError | undefined {
  const where = () => `The parameter ${showName(name)} at character ${json.characterAt(valueAt)}`;
  if (kind === "null") return refuse("null_value", `${where()} is null; give it a value, or leave it out`, name);
  if (kind !== "object" && kind !== "array") return undefined;
  const fix = "parameters are flat, so send a string, a number or a boolean";
  return refuse("nested_value", `${where()} is ${kindInWords[kind]}; ${fix}`, name);
}

function refuse(
  code: "body_not_json" | "duplicate_parameter" | "name_not_allowed" | "null_value" | "nested_value",
  what: string,
  name?: string,
): ProxyError {
  return new ProxyError(code, `${what}.`, { causedBy: name === undefined ? undefined : nameInLog(name) });
}
