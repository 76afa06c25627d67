/** One header line as received: the name in the sender's casing. */
export type HeaderLine = readonly [name: string, value: string];

/** Headers meant for one connection only (RFC 9110 section 7.6.1 and the older ones that practice knows). */
export const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** A parser's flat list of names and values as lines; bytes are read as Latin-1. */
export function headerLines(raw: readonly (string | Uint8Array)[]): HeaderLine[] {
  const lines: HeaderLine[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) lines.push([toText(raw[index]), toText(raw[index + 1])]);
  return lines;
}

function toText(value: string | Uint8Array = ""): string {
  return typeof value === "string" ? value : Buffer.from(value).toString("latin1");
}

/**
 * Every value of a header; names are compared without case.
 * @param name in lower case
 */
export function valuesOf(headers: readonly HeaderLine[], name: string): string[] {
  const values: string[] = [];
  for (const [given, value] of headers) {
    if (given.length === name.length && given.toLowerCase() === name) values.push(value);
  }
  return values;
}

/**
 * The value of a header that stands once; undefined where it is absent or repeated.
 * @param name in lower case
 */
export function one(headers: readonly HeaderLine[], name: string): string | undefined {
  const [value, ...more] = valuesOf(headers, name);
  return more.length === 0 ? value : undefined;
}

/** The names, in lower case, of headers that Connection declares to be meant for this connection only. */
export function connectionOptions(headers: readonly HeaderLine[]): ReadonlySet<string> {
  const names = valuesOf(headers, "connection").flatMap((value) => value.split(","));
  return new Set(names.map((name) => name.trim().toLowerCase()));
}

/** Whether a response tells where its body ends, or has none (RFC 9112 section 6.3). */
export function isFramed({ status, headers }: { readonly status: number; readonly headers: readonly HeaderLine[] }) {
  if (status === 204 || status === 304) return true;
  // Any other last coding is ended by the close.
  const isChunked = /(?:^|,)[ \t]*chunked[ \t]*$/i.test(valuesOf(headers, "transfer-encoding").join(","));
  return isChunked || valuesOf(headers, "content-length").length > 0;
}
