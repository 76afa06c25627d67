import { isUtf8 } from "node:buffer";

/** String parameters in the order of the text, or why there are none. */
export type ParametersReading =
  | { readonly ok: true; readonly parameters: ReadonlyMap<string, string> }
  | {
      readonly ok: false;
      readonly code: "body_not_json" | "duplicate_parameter" | "value_not_a_string";
      readonly detail: string;
    };

const byteOrderMark = "\uFEFF";

/** Decodes UTF-8; undefined when the bytes are not valid UTF-8. Keeps a byte order mark. */
export function decodeUtf8(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
}

/**
 * Reads one flat JSON object whose values are all strings (spec 2.1), strictly: `JSON.parse` alone would let the last
 * of two equal names win, reorder names that look like integers and replace invalid UTF-8.
 */
export function readJson(bytes: Buffer): ParametersReading {
  const text = decodeUtf8(bytes);
  if (text === undefined) return notJson("the body is not valid UTF-8");
  if (text.startsWith(byteOrderMark)) return notJson("the body starts with a byte order mark");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return notJson("the body is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return notJson("the body is not a JSON object");
  }
  return scanMembers(text);
}

/** Walks over the members of an object that `JSON.parse` has found well-formed. */
function scanMembers(text: string): ParametersReading {
  const parameters = new Map<string, string>();
  let at = skipSpace(text, text.indexOf("{") + 1);
  while (text[at] !== "}") {
    const name = scanString(text, at);
    if (isLone(name.value)) return notJson("a name holds a lone surrogate");
    if (parameters.has(name.value)) {
      return { ok: false, code: "duplicate_parameter", detail: `${JSON.stringify(name.value)} is given twice` };
    }
    at = skipSpace(text, skipSpace(text, name.end) + 1);
    if (text[at] !== '"') {
      return { ok: false, code: "value_not_a_string", detail: `the value of ${JSON.stringify(name.value)}` };
    }
    const value = scanString(text, at);
    if (isLone(value.value)) return notJson(`the value of ${JSON.stringify(name.value)} holds a lone surrogate`);
    parameters.set(name.value, value.value);
    at = skipSpace(text, value.end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return { ok: true, parameters };
}

/** Reads the string literal whose opening quote is at `start`; `end` is the position behind its closing quote. */
function scanString(text: string, start: number): { readonly value: string; readonly end: number } {
  let at = start + 1;
  let isEscaped = false;
  while (text[at] !== '"') {
    if (text[at] === "\\") {
      isEscaped = true;
      at += 1;
    }
    at += 1;
  }
  const value = isEscaped ? (JSON.parse(text.slice(start, at + 1)) as string) : text.slice(start + 1, at);
  return { value, end: at + 1 };
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (text[at] === " " || text[at] === "\t" || text[at] === "\n" || text[at] === "\r") at += 1;
  return at;
}

/** A lone surrogate has no UTF-8 form, so it cannot be signed. */
function isLone(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}

function notJson(detail: string): ParametersReading {
  return { ok: false, code: "body_not_json", detail };
}

/** Reads an `application/x-www-form-urlencoded` body strictly: no duplicates, no broken escapes (spec 4.2). */
export function readForm(bytes: Buffer): ParametersReading {
  const parameters = new Map<string, string>();
  for (const field of bytes.toString("latin1").split("&")) {
    if (field === "") continue;
    const equals = field.indexOf("=");
    const name = decodeField(equals < 0 ? field : field.slice(0, equals));
    const value = equals < 0 ? "" : decodeField(field.slice(equals + 1));
    if (name === undefined || value === undefined) {
      return { ok: false, code: "body_not_json", detail: "the form has a broken escape or is not UTF-8" };
    }
    if (parameters.has(name)) return { ok: false, code: "duplicate_parameter", detail: `${name} is given twice` };
    parameters.set(name, value);
  }
  return { ok: true, parameters };
}

function decodeField(field: string): string | undefined {
  if (/%(?![0-9a-fA-F]{2})/.test(field)) return undefined;
  const bytes = field
    .replaceAll("+", " ")
    .replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return decodeUtf8(Buffer.from(bytes, "latin1"));
}

/** Whether a Content-Type is JSON in UTF-8 (RFC 8259 allows no other encoding). */
export function isJson(contentType: string | undefined): boolean {
  return isUtf8Of("application/json", contentType);
}

/** Whether a Content-Type is the form encoding that token requests may use (spec 4.2). */
export function isForm(contentType: string | undefined): boolean {
  return isUtf8Of("application/x-www-form-urlencoded", contentType);
}

function isUtf8Of(type: string, contentType = ""): boolean {
  const [given = "", ...parameters] = contentType.toLowerCase().split(";");
  return given.trim() === type && parameters.every((parameter) => /^\s*charset="?utf-8"?\s*$/.test(parameter));
}
