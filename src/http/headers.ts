/**
 * Header lines as one flat list: name, value, name, value, … as received. Names have the sender's casing; bytes are read
 * as Latin-1.
 */
export type HeaderLines = readonly string[];

/** Headers meant for one connection only (RFC 9110 section 7.6.1), and older ones that are in use. */
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

const none: readonly string[] = [];
const keepAlive: readonly string[] = ["keep-alive"];

/**
 * Every value of a header; names are compared without case.
 * @param name in lower case
 */
export function valuesOf(headers: HeaderLines, name: string): readonly string[] {
  let values: string[] | undefined;
  for (let index = 0; index < headers.length; index += 2) {
    if (!isName(headers[index], name)) continue;
    const value = headers[index + 1] ?? "";
    if (values === undefined) values = [value];
    else values.push(value);
  }
  return values ?? none;
}

/**
 * The first value of a header.
 * @param name in lower case
 */
export function firstOf(headers: HeaderLines, name: string): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    if (isName(headers[index], name)) return headers[index + 1];
  }
  return undefined;
}

/**
 * The value of a header that is present once; undefined if it is absent or repeated.
 * @param name in lower case
 */
export function one(headers: HeaderLines, name: string): string | undefined {
  const values = valuesOf(headers, name);
  return values.length === 1 ? values[0] : undefined;
}

/**
 * Which of these names a header has, compared without case.
 * @param names in lower case
 */
export function nameAmong(names: readonly string[], given: string | undefined): string | undefined {
  for (const name of names) if (isName(given, name)) return name;
  return undefined;
}

/** Most names already differ in length, and comparing lengths needs no string in lower case. */
function isName(given: string | undefined, name: string): boolean {
  return given !== undefined && given.length === name.length && (given === name || given.toLowerCase() === name);
}

/** The names, in lower case, of headers that Connection declares to be meant for this connection only. */
export function connectionOptions(headers: HeaderLines): readonly string[] {
  const values = valuesOf(headers, "connection");
  if (values.length === 0) return none;
  // What most clients send.
  if (values.length === 1 && values[0] === "keep-alive") return keepAlive;
  return values.flatMap((value) => value.split(",")).map((option) => option.trim().toLowerCase());
}

/** Whether a request asks to switch to WebSocket (RFC 6455 section 4.1); it must be a GET, too. */
export function asksForWebSocket(headers: HeaderLines): boolean {
  return firstOf(headers, "upgrade")?.toLowerCase() === "websocket" && connectionOptions(headers).includes("upgrade");
}

/**
 * The header lines that are passed on to the other side, unchanged: all except headers for one connection, Countersign-*
 * headers, and `dropped`.
 * @param dropped names in lower case
 */
export function endToEndHeaders(headers: HeaderLines, dropped?: ReadonlySet<string>): string[] {
  const options = connectionOptions(headers);
  const passed: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const given = headers[index] ?? "";
    const name = given.toLowerCase();
    if (hopByHop.has(name) || name.startsWith("countersign-") || dropped?.has(name) || options.includes(name)) continue;
    passed.push(given, headers[index + 1] ?? "");
  }
  return passed;
}

/**
 * The transfer codings of a body in the order in which they were applied, in lower case (RFC 9112 section 6.1). Only spaces
 * and tabs around a coding are removed. `trim` would also remove characters that make it another coding.
 */
export function transferCodings(headers: HeaderLines): readonly string[] {
  const values = valuesOf(headers, "transfer-encoding");
  if (values.length === 0) return none;
  const codings = values.join(",").toLowerCase().split(",");
  return codings.map((coding) => coding.replace(/^[ \t]+|[ \t]+$/g, ""));
}

/** Whether a response's head says where its body ends, or that it has no body (RFC 9112 section 6.3). */
export function isFramed({ status, headers }: { readonly status: number; readonly headers: HeaderLines }): boolean {
  if (status === 204 || status === 304 || firstOf(headers, "content-length") !== undefined) return true;
  // With any other last coding, the close of the connection ends the body.
  return transferCodings(headers).at(-1) === "chunked";
}

/**
 * Whether a response's body has any coding besides a single `chunked` (RFC 9112 section 7): another transfer coding, which
 * its bytes do not show, or `chunked` twice, which section 6.1 forbids.
 */
export function isCoded(headers: HeaderLines): boolean {
  const applied = transferCodings(headers).filter((coding) => coding !== "" && coding !== "identity");
  return applied.some((coding, index) => index > 0 || coding !== "chunked");
}

/** What a header line takes beside its bytes: a name and a value, each a part of a text, and their places in a list. */
const perHeaderLineBytes = 96;

/** The memory that header lines take beside their bytes. */
export function heldBesideBytes(headers: HeaderLines): number {
  return (headers.length / 2) * perHeaderLineBytes;
}

/** The memory that header lines take. */
export function heldBytesOf(headers: HeaderLines): number {
  return headers.reduce((sum, { length }) => sum + length, heldBesideBytes(headers));
}
