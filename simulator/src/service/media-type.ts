/** Whether a Content-Type is JSON in UTF-8 (RFC 8259: there is no other). */
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
