import type { CallerSignatureResult } from "../model/caller.ts";
import type { Site } from "../model/environment.ts";
import { findSigner, isSigned } from "../signing/find-signer.ts";
import type { Parameters } from "./parameters.ts";

/**
 * Checks the signature that the caller has made itself, over what the caller sent, before it is dropped: by the key that
 * the body names, else the site's default key (spec 5.3). Numbers and booleans count as they are written.
 */
export function checkCallerSignature(
  parameters: Parameters,
  { keys, defaultKey, exempt }: Site,
): CallerSignatureResult {
  const given = new Map(Array.from(parameters.values(), ({ name, value }) => [name, value]));
  if ((given.get("signature") ?? "") === "") return "missing";
  if (!isSigned(given)) return "incomplete";
  const key = keys.find(({ identifier }) => identifier === given.get("site_identifier")) ?? defaultKey;
  if (key === undefined || key.version !== given.get("version")) return "unknown_key";
  return findSigner(given, [key], exempt) === undefined ? "invalid" : "valid";
}
