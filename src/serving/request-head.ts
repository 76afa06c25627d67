import { type HeaderLines, transferCodings, valuesOf } from "../http/headers.ts";
import type { Environment } from "../model/environment.ts";
import { type FailureCode, ProxyError } from "../model/errors.ts";
import { listNames } from "../model/names.ts";
import type { CallerRequest, ListenerContext } from "./messages.ts";

const json = "application/json";
const utf8: ReadonlySet<string> = new Set(["charset=utf-8", 'charset="utf-8"']);

/** What a refusal says of the listener: its URL, and the routes that take other methods. */
interface Addressed extends Pick<ListenerContext, "url"> {
  readonly environment: Pick<Environment, "passThrough">;
}

/**
 * Checks everything about a request's head that does not depend on configuration, before its body is read.
 * @returns the only Host value
 * @throws ProxyError malformed_request, method_not_allowed, expectation_not_supported, media_type_not_supported
 */
export function checkHead(
  { method, target, headers }: Pick<CallerRequest, "method" | "target" | "headers">,
  listener: Addressed,
): string {
  checkMethod(method, target, headers, listener);
  const host = checkFraming(headers);
  checkContentType(headers);
  return host;
}

/**
 * Checks the headers that decide where a request goes and how its body is read.
 * @param mayBeCompressed for a body that is passed on without being read
 * @returns the only Host value
 * @throws ProxyError malformed_request, expectation_not_supported, media_type_not_supported
 */
export function checkFraming(headers: HeaderLines, mayBeCompressed = false): string {
  const host = checkHost(headers);
  checkExpectation(headers);
  if (!mayBeCompressed) checkContentEncoding(headers);
  checkTransferEncoding(headers);
  return host;
}

function checkMethod(
  method: string,
  target: string,
  headers: HeaderLines,
  { url, environment: { passThrough = [] } }: Addressed,
): void {
  if (method === "POST") return;
  const routes = passThrough.filter(({ methods }) => methods.has(method)).map(({ prefix }) => prefix);
  const passed = routes.length === 0 ? "" : ` Paths below ${listNames(routes)} take ${method}.`;
  const detail =
    method === "CONNECT"
      ? `${explainTunnel(target)} Set your base URL to ${url}.`
      : `Operations are called with POST, not with ${method}.${passed}${explainTarget(target)}${method === "OPTIONS" ? explainPreflight(headers) : ""}`;
  throw new ProxyError("method_not_allowed", detail, { headers: ["Allow", "POST"] });
}

/** The settings of the ports on which these are read. */
const elsewhere = new Map([
  ["/metrics", "admin.bind"],
  ["/livez", "admin.bind"],
  ["/readyz", "admin.bind"],
  ["/status", "status.bind"],
]);

function explainTarget(target: string): string {
  const meant = /^\/health(z|check)?$/.test(target) ? "/livez" : target;
  const setting = elsewhere.get(meant);
  return setting === undefined ? "" : ` ${meant} is at the port of ${setting}.`;
}

/** The port of the tunnel's target shows the scheme of the client's URL (RFC 9110 section 9.3.6). */
function explainTunnel(target: string): string {
  return target.endsWith(":443")
    ? "An https:// URL came through the proxy setting, so Countersign sees only a tunnel and cannot sign."
    : "The client asks for a tunnel through the proxy setting, as some clients do for http:// URLs too. Countersign " +
        "sees only the tunnel and cannot sign.";
}

/** A browser asks first whether a page of another origin may call (Fetch, CORS-preflight request). */
function explainPreflight(headers: HeaderLines): string {
  const isPreflight = valuesOf(headers, "access-control-request-method").length > 0;
  return isPreflight ? " A browser asks this. No web page may call here: let its server call." : "";
}

/** Exactly one Host (RFC 9112 section 3.2). */
function checkHost(headers: HeaderLines): string {
  const values = valuesOf(headers, "host");
  const host = values[0];
  if (host === undefined) throw refuse("malformed_request", "The Host header is missing.", "Host");
  if (values.length > 1) throw refuse("malformed_request", "There are several Host headers.", "Host");
  return host;
}

function checkExpectation(headers: HeaderLines): void {
  if (valuesOf(headers, "expect").every((value) => value.toLowerCase() === "100-continue")) return;
  throw refuse(
    "expectation_not_supported",
    "The only expectation that can be met is 100-continue; leave any other out.",
    "Expect",
  );
}

function checkContentEncoding(headers: HeaderLines): void {
  if (valuesOf(headers, "content-encoding").every((value) => value.toLowerCase() === "identity")) return;
  const what = "The body is compressed; send it as it is, without Content-Encoding.";
  throw refuse("media_type_not_supported", what, "Content-Encoding", ["Accept-Encoding", "identity"]);
}

/** The parser decodes the chunks, but ignores any other coding, such as gzip. */
function checkTransferEncoding(headers: HeaderLines): void {
  const codings = transferCodings(headers);
  if (codings.length === 0) return;
  // RFC 9112 section 6.3: the end of such a body cannot be known.
  const field = "Transfer-Encoding";
  if (codings.at(-1) !== "chunked") throw refuse("malformed_request", `${field} does not end with chunked.`, field);
  if (codings.length > 1)
    throw refuse("media_type_not_supported", `The only ${field} that is taken is chunked.`, field);
}

function checkContentType(headers: HeaderLines): void {
  const values = valuesOf(headers, "content-type");
  const type = values[0];
  if (values.length === 1 && type !== undefined && isUtf8Type(type, json)) return;
  throw refuse("media_type_not_supported", `${explainContentType(type, values.length > 1)}.`, "Content-Type", [
    "Accept",
    json,
  ]);
}

/**
 * Whether it is this media type, with charset utf-8 or without parameters (RFC 8259 section 8.1, RFC 9110 section 8.3.1).
 * @param expected in lower case
 */
export function isUtf8Type(mediaType: string, expected: string): boolean {
  if (mediaType === expected) return true;
  const [type = "", ...parameters] = mediaType.toLowerCase().split(";");
  const given = parameters.map((parameter) => parameter.trim()).filter((parameter) => parameter !== "");
  return type.trimEnd() === expected && given.length <= 1 && given.every((parameter) => utf8.has(parameter));
}

function explainContentType(type: string | undefined, isRepeated: boolean): string {
  const fix = "Countersign takes application/json. Add -H 'Content-Type: application/json'";
  if (type === undefined) return `Content-Type is missing; ${fix}`;
  if (isRepeated) return `Content-Type was given more than once; ${fix}, once`;
  if (/^application\/json\s?;/i.test(type)) {
    return /charset=(?!"?utf-8)/i.test(type)
      ? "Content-Type names another charset; send the body in UTF-8, and leave it out"
      : "Content-Type has another parameter than charset=utf-8; leave it out";
  }
  const media = knownType.exec(type)?.[0].toLowerCase() ?? "not JSON";
  const ofCurl = media === "application/x-www-form-urlencoded" ? " (curl -d sends that)" : "";
  return `Content-Type is ${media}${ofCurl}; ${fix}`;
}

/** Only these are named: any other text of a caller may be a secret. */
const knownType =
  /^(?:text\/(?:json|plain|html|xml)|multipart\/form-data|application\/(?:x-www-form-urlencoded|xml|octet-stream|(?:problem|vnd\.api)\+json))(?=[ \t]*(?:;|$))/i;

/** @param headers of the answer (RFC 9110 sections 12.5.3 and 15.5.16) */
function refuse(code: FailureCode, what: string, causedBy: string, headers: HeaderLines = []): ProxyError {
  return new ProxyError(code, what, { causedBy, headers });
}
