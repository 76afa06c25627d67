import { valuesOf } from "../http/headers.ts";
import { ProxyError } from "../model/errors.ts";
import { readParameters, refuseName, refuseParameter, showName, tooMany } from "../parameters/parameters.ts";
import { allowedName } from "../parameters/signature.ts";
import type { CallerRequest } from "../serving/messages.ts";
import { isUtf8Type } from "../serving/request-head.ts";

/** How the service sends a callback's parameters. */
export type CallbackForm = "json" | "form" | "query";

/** Far more than any callback has; each uses memory. */
export const mostNames = 1_000;
const methods = "GET, POST";

/**
 * Which form a callback has, by its head.
 * @throws ProxyError method_not_allowed, media_type_not_supported
 */
export function formOf({ method, headers }: Pick<CallerRequest, "method" | "headers">): CallbackForm {
  if (method === "GET") return "query";
  if (method !== "POST") {
    throw new ProxyError("method_not_allowed", `${method} is not a method of callbacks.`, {
      headers: ["Allow", methods],
    });
  }
  const [type = "", ...more] = valuesOf(headers, "content-type");
  if (more.length === 0 && isUtf8Type(type, "application/json")) return "json";
  if (more.length === 0 && isUtf8Type(type, "application/x-www-form-urlencoded")) return "form";
  const what = "A callback is application/json or application/x-www-form-urlencoded, in UTF-8.";
  throw new ProxyError("media_type_not_supported", what, {
    causedBy: "Content-Type",
    headers: ["Accept", "application/json, application/x-www-form-urlencoded"],
  });
}

/**
 * The query of a request target, without its `?`.
 * @throws ProxyError target_not_allowed if the target is no path
 */
export function queryOf(target: string): string | undefined {
  if (!target.startsWith("/")) {
    throw new ProxyError("target_not_allowed", "The request target of a callback is a path.");
  }
  const at = target.indexOf("?");
  return at === -1 ? undefined : target.slice(at + 1);
}

/**
 * A callback's parameters, from its body and from its query, as they are signed (spec 5.2). A name in both is given
 * twice: applications differ in which of the two values they use.
 * @throws ProxyError malformed_request, body_not_json, duplicate_parameter, name_not_allowed, null_value, nested_value
 */
export function readCallback(
  form: CallbackForm,
  query: string | undefined,
  body: Uint8Array,
): ReadonlyMap<string, string> {
  if (form === "query" && body.length > 0) throw malformed("A GET has no body.", "body");
  const parameters = new Map<string, string>();
  const add = (name: string, value: string) => {
    checkName(name);
    if (parameters.has(name)) {
      throw refuseParameter("duplicate_parameter", `The parameter ${showName(name)} is given twice.`, name);
    }
    if (parameters.size === mostNames) throw tooMany(mostNames);
    parameters.set(name, value);
  };
  for (const [name, value] of readForm(query ?? "", "query")) add(name, value);
  if (form === "form") for (const [name, value] of readForm(latin1(body), "body")) add(name, value);
  if (form === "json") for (const [name, { value }] of readParameters(body, mostNames)) add(name, value);
  return parameters;
}

/** `a[]` and `a[b]` become lists and objects in many applications: the string to sign has no form for these. */
function checkName(name: string): void {
  if (allowedName.test(name)) return;
  if (name.includes("[")) throw refuseParameter("nested_value", `The parameter ${showName(name)} is nested.`, name);
  throw refuseName(name);
}

/** Bytes beyond ASCII stay beyond ASCII, and `encodedForm` refuses them. */
function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

/** The characters that a correct sender writes unencoded. Not `;`: for some parsers it separates parameters. */
const encodedForm = /^[A-Za-z0-9!$%&'()*+,./:=?@_~|[\]-]*$/;

/**
 * Reads `application/x-www-form-urlencoded` (URL standard, section 5), and queries, which have the same form. Text that
 * parsers read in different ways is refused: the application must not read it in another way than Countersign.
 * @returns names and values in their order, with repetitions; a generator, so that its reader can stop early
 * @throws ProxyError malformed_request
 */
export function* readForm(text: string, where: "body" | "query"): Generator<[name: string, value: string]> {
  if (!encodedForm.test(text)) throw malformed(`The ${where} has a character that must be percent-encoded.`, where);
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf("&", at);
    const pair = text.slice(at, next === -1 ? text.length : next);
    at += pair.length + 1;
    if (pair === "") continue;
    const end = pair.indexOf("=");
    const [name, value] = end === -1 ? [pair, ""] : [pair.slice(0, end), pair.slice(end + 1)];
    yield [decode(name, where), decode(value, where)];
  }
}

/** Percent-encoded UTF-8, and `+` for a space. */
function decode(text: string, where: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw malformed(`The ${where} is not valid percent-encoded UTF-8.`, where);
  }
}

function malformed(what: string, causedBy: string): ProxyError {
  return new ProxyError("malformed_request", what, { causedBy });
}
