import { decodeUtf8, type ParametersReading } from "./read-json.ts";

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
