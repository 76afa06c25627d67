import type { SigningKey } from "../model/environment.ts";
import { stringToSign, verify } from "./hmac.ts";
import { requiredNames } from "./parameter-rules.ts";

/** What must be there before a signature can be checked (spec 5.2 step 2). */
const needed = [...requiredNames, "signature"] as const;

/** Whether all that a signature is checked by is there, and not empty. */
export function isSigned(parameters: ReadonlyMap<string, string>): boolean {
  return needed.every((name) => (parameters.get(name) ?? "") !== "");
}

/**
 * Of these keys the one whose signature the parameters have (spec 5.2), compared in constant time.
 * @param exempt names that are not signed; always holds `signature`
 */
export function findSigner(
  parameters: ReadonlyMap<string, string>,
  keys: readonly SigningKey[],
  exempt: ReadonlySet<string>,
): SigningKey | undefined {
  const named = Array.from(parameters, ([name, value]) => ({ name, value }));
  const text = stringToSign(named, exempt);
  return keys.find(({ secret }) => verify(text, secret, parameters.get("signature") ?? ""));
}
