import { type FailureCode, failures } from "../../../model/errors.ts";
import type { CallbackResult } from "../../../model/events.ts";

/** The section that has each result of a callback, and what to do. */
export const callbackHelp = "troubleshooting.md#callbacks-do-not-arrive";

const meanings: Readonly<Record<string, string>> = {
  delivered: "The application answered 2xx.",
  declined: "The application answered something else than 2xx.",
  repeated: "The application had taken it before; it was answered again, and not handed over.",
  parameter_missing: "It has no `version`, `site_identifier`, `timestamp` or `signature`.",
  site_unknown: "Its site, or its key, is not configured.",
  key_missing: "Its site has no key of that `version`, or none at all.",
  signature_wrong: "It is not signed with the key that it names: another key, another `exempt`, or a forgery.",
  timestamp_invalid: "It is signed, and its timestamp is not in Unix seconds.",
} satisfies Record<Exclude<CallbackResult, FailureCode>, string>;

/** @param result a CallbackResult */
export function meaningOfCallback(result: string): string {
  return meanings[result] ?? failures[result as FailureCode]?.meaning ?? "";
}

const redirected =
  "No redirect is followed, so no order exists: has the host of baseUrl moved, or does a login or a firewall answer?";

/** What an operator checks first. The service's interface does not define its statuses. */
const serviceRefusals: Readonly<Record<string, string>> = {
  "401": "It did not accept the token or the signature: compare the set or the key with the portal, and the clock.",
  "403": "It did not allow the site or the operation.",
  "404": "It does not know what was asked for.",
  "422": "It did not accept the parameters; with HMAC, perhaps the key or the signature.",
  "429": "It received too many requests: send fewer, or ask its operator for more.",
};

export function serviceRefusal(status: string, allFail: boolean): string {
  if (status === "404" && allFail) return "It does not know the path: compare the environment’s baseUrl.";
  const known = serviceRefusals[status];
  if (known !== undefined) return known;
  if (status.startsWith("3")) return redirected;
  return status.startsWith("5") ? "It failed." : "";
}
