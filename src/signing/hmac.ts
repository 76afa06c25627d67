import { createHmac, timingSafeEqual } from "node:crypto";
import type { SigningKey } from "../model/environment.ts";
import type { Secret } from "../model/secret.ts";
import { compareNames, type NamedValue, requiredNames } from "./parameter-rules.ts";

/**
 * The string to sign (spec 5.2 steps 1, 3 and 4): parameters sorted by name, each name followed by its value, nothing
 * between. It signs what it is given; which names and values are allowed is checked elsewhere.
 * @param exempt names that are not signed
 */
export function stringToSign(parameters: readonly NamedValue[], exempt: ReadonlySet<string>): string {
  const signed = parameters.filter(({ name }) => !exempt.has(name));
  signed.sort(compareNames);
  let text = "";
  for (const { name, value } of signed) text += name + value;
  return text;
}

/** HMAC-SHA256 over the UTF-8 bytes, in 64 lowercase hexadecimal digits (spec 5.2 steps 5 and 6). */
export function sign(text: string, secret: Secret): string {
  return createHmac("sha256", secret.key).update(text, "utf8").digest("hex");
}

/** Whether this is exactly the text's signature. Compares in constant time. */
export function verify(text: string, secret: Secret, signature: string): boolean {
  const expected = Buffer.from(sign(text, secret), "utf8");
  const given = Buffer.from(signature, "utf8");
  return given.length === expected.length && timingSafeEqual(given, expected);
}

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
