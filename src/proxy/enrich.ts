import type { Site } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import { isDecimal } from "../signing/parameter-rules.ts";
import { expandNumber, toTwoDigits } from "./decimal.ts";
import { nameInLog, showName } from "./parameter-name.ts";
import type { Parameter, Parameters } from "./parameters.ts";

/** Set anew for every attempt; what the caller sent is dropped. */
const ofOneAttempt: ReadonlySet<string> = new Set(["timestamp", "signature"]);

/**
 * What is sent, but for the timestamp and the signature: the caller's parameters in the caller's order, every value a
 * string (spec 2.1), amounts with two digits (spec 5.2 rule 2). `version` and `site_identifier` take the caller's place
 * if the caller sent them, else the end.
 * @param identifier what is sent as `site_identifier`
 * @throws ProxyError number_out_of_range, decimal_invalid, version_mismatch
 */
export function enrich(
  parameters: Parameters,
  site: Pick<Site, "identifier" | "version" | "decimals">,
  identifier: string,
): Map<string, string> {
  const sent = new Map<string, string>();
  for (const [name, parameter] of parameters) {
    if (ofOneAttempt.has(name)) continue;
    const text = writeOut(name, parameter);
    sent.set(name, isDecimal(name, site.decimals) ? writeAmount(name, text) : text);
  }
  checkVersion(sent.get("version"), site);
  return sent.set("version", site.version).set("site_identifier", identifier);
}

/** What is sent in one attempt, but for the signature. */
export function stamp(parameters: ReadonlyMap<string, string>, unixSeconds: number): Map<string, string> {
  return new Map(parameters).set("timestamp", String(Math.floor(unixSeconds)));
}

function writeOut(name: string, { kind, text }: Parameter): string {
  if (kind !== "number") return text;
  const expanded = expandNumber(text);
  if (expanded !== undefined) return expanded;
  const what = `The number of parameter ${showName(name)} takes more than 64 digits when written without an exponent`;
  throw new ProxyError("number_out_of_range", `${what}; send it as a string if it is meant.`, {
    causedBy: nameInLog(name),
  });
}

function writeAmount(name: string, text: string): string {
  const amount = toTwoDigits(text);
  if (amount !== undefined) return amount;
  throw new ProxyError(
    "decimal_invalid",
    `The parameter ${showName(name)} is an amount: a number, or a string of digits like "10.50". No digit but 0 may ` +
      "follow the second one after the point, because nothing is rounded.",
    { causedBy: nameInLog(name) },
  );
}

function checkVersion(version: string | undefined, site: Pick<Site, "identifier" | "version">): void {
  if (version === undefined || version === site.version) return;
  throw new ProxyError(
    "version_mismatch",
    `The body's version is not ${site.version}, which is configured for site ${site.identifier}. Leave version out, or ` +
      `send "${site.version}".`,
    { causedBy: "version" },
  );
}
