import { connectionOptions, type HeaderLines, hopByHop, nameAmong } from "../http/headers.ts";
import type { Environment, Site } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import { type Parameter, type Parameters, refuseParameter, showName } from "../parameters/parameters.ts";
import { expandNumber, isDecimal, type SentParameter, toTwoDigits } from "../parameters/signature.ts";
import type { Route } from "../serving/messages.ts";

/** Set anew for every attempt; the caller's values are dropped. */
const ofOneAttempt: ReadonlySet<string> = new Set(["timestamp", "signature"]);
/** A header of ours, written as a parameter: the service would get it, and it would have no effect. */
const headerName = /^(?:x[-_.]?)?countersign[-_.]/i;
/** The caller's request headers that go upstream when the caller sent them. */
export const passedUpstream: readonly string[] = [
  "user-agent",
  "accept-language",
  "traceparent",
  "tracestate",
  "x-request-id",
];

/** Complete except for what belongs to one attempt: the timestamp, and the `site_identifier` with its signature or token. */
export interface PreparedRequest {
  readonly route: Route;
  readonly headers: HeaderLines;
  /** In the order they are sent, each name once. */
  readonly parameters: readonly SentParameter[];
}

/**
 * Builds the request that is sent, without the parts that belong to one attempt.
 * @throws ProxyError name_not_allowed, number_out_of_range, decimal_invalid, version_mismatch
 */
export function prepare(
  route: Route,
  parameters: Parameters,
  headers: HeaderLines,
  requestId: string,
): PreparedRequest {
  return {
    route,
    headers: headersUpstream(headers, route.environment, requestId),
    parameters: enrich(parameters, route.site),
  };
}

/**
 * The parameters that are sent, except those of one attempt: the caller's, in the caller's order, every value a string
 * (spec 2.1), amounts with two digits (spec 5.2 rule 2). `version` keeps the caller's position, or is added at the end.
 * @throws ProxyError name_not_allowed, number_out_of_range, decimal_invalid, version_mismatch
 */
export function enrich(
  parameters: Parameters,
  site: Pick<Site, "identifier" | "version" | "decimals">,
): SentParameter[] {
  const sent: SentParameter[] = [];
  for (const parameter of parameters.values()) {
    const { name, isPlain } = parameter;
    if (ofOneAttempt.has(name)) continue;
    if (headerName.test(name)) throw refuseHeader(name);
    const value = writeValue(parameter, site.decimals);
    sent.push(value === parameter.value ? parameter : { name, value, isPlain });
  }
  checkVersion(sent, site);
  put(sent, "version", site.version);
  return sent;
}

/** Sets a parameter of ours in place of the caller's parameter of that name, or at the end if there is none. */
export function put(sent: SentParameter[], name: string, value: string): void {
  const index = sent.findIndex((parameter) => parameter.name === name);
  sent[index < 0 ? sent.length : index] = { name, value, isPlain: false };
}

function refuseHeader(name: string): ProxyError {
  const what = `The parameter ${showName(name)} is named like a header of Countersign, which has no effect in a body`;
  return refuseParameter("name_not_allowed", `${what}; send the header.`, name);
}

/**
 * The value as it is sent: a number without its exponent, an amount with two digits.
 * @param decimals names of amounts beside `*_amount`
 * @throws ProxyError number_out_of_range, decimal_invalid
 */
export function writeValue(parameter: Parameter, decimals: ReadonlySet<string>): string {
  const text = writeOut(parameter);
  return isDecimal(parameter.name, decimals) ? writeAmount(parameter.name, text) : text;
}

function writeOut({ name, kind, value }: Parameter): string {
  const written = kind === "number" ? expandNumber(value) : value;
  if (written !== undefined) return written;
  const what = `The number of parameter ${showName(name)} takes more than 64 digits when written without an exponent`;
  throw refuseParameter("number_out_of_range", `${what}; send it as a string if it is meant.`, name);
}

function writeAmount(name: string, text: string): string {
  const amount = toTwoDigits(text);
  if (amount !== undefined) return amount;
  const what = `The parameter ${showName(name)} is an amount: a number, or a string of digits like "10.50".`;
  throw refuseParameter("decimal_invalid", `${what} ${faultOfAmount(text)}`, name);
}

/** The longest beginning of a text that a decimal can have. */
const beginning = /^-?(?:(?:0|[1-9]\d*)(?:\.\d*)?)?/;
const kinds: Readonly<Record<string, string>> = { ",": "a comma", ".": "a point", " ": "a space" };

/** Only the kind of the wrong character is said: the text is the caller's. */
function faultOfAmount(text: string): string {
  const at = beginning.exec(text)?.[0].length ?? 0;
  const wrong = text[at];
  if (wrong === undefined && /\d$/.test(text))
    return "Send two digits after the point: a third one may only be 0, because nothing is rounded.";
  if (wrong === undefined) return "It ends where a digit has to follow.";
  const kind = kinds[wrong] ?? (/\d/.test(wrong) ? "a digit after a leading 0" : "neither a digit nor the point");
  return `Its character ${at + 1} is ${kind}.`;
}

function checkVersion(sent: readonly SentParameter[], site: Pick<Site, "identifier" | "version">): void {
  const version = sent.find(({ name }) => name === "version");
  if (version === undefined || version.value === site.version) return;
  throw new ProxyError(
    "version_mismatch",
    `The body's version is not ${site.version}, which is configured for site ${site.identifier}. Leave version out, or ` +
      `send "${site.version}".`,
    { causedBy: "version" },
  );
}

/**
 * The request headers that are sent: our own, and those of the caller that are allowed by name. All others are dropped, so
 * no unusual spelling of `Authorization`, cookies or framing headers can pass.
 */
export function headersUpstream(
  headers: HeaderLines,
  environment: Pick<Environment, "forwardHeaders" | "via">,
  requestId: string,
): HeaderLines {
  const dropped = connectionOptions(headers);
  const sent = ["accept", "application/json", "content-type", "application/json"];
  let isIdentified = false;
  for (let index = 0; index < headers.length; index += 2) {
    const name = nameAmong(passedUpstream, headers[index]) ?? nameAmong(environment.forwardHeaders, headers[index]);
    if (name === undefined || dropped.includes(name) || hopByHop.has(name)) continue;
    sent.push(name, headers[index + 1] ?? "");
    if (name === "x-request-id") isIdentified = true;
  }
  if (!isIdentified) sent.push("x-request-id", requestId);
  if (environment.via) sent.push("via", "1.1 countersign");
  return sent;
}
