import { type FailureCode, failures } from "../../../model/errors.ts";
import type { CallbackResult } from "../../../model/events.ts";
import { explainAnswer } from "../../../model/service-answer.ts";

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

/** What a status of the service means, and what to do, in whole sentences. */
export function serviceRefusal(status: string, allFail: boolean): string {
  const found = explainAnswer(Number(status), { isEvery: allFail });
  if (found === undefined) return "";
  return [found.detail, found.fix].map((clause) => `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`).join(" ");
}
