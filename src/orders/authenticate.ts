import type { Site } from "../model/environment.ts";
import type { CallerSignatureResult } from "../model/events.ts";
import type { Parameters } from "../parameters/parameters.ts";
import { findSigner, isSigned, type SentParameter, serialise } from "../parameters/signature.ts";
import type { Attempt } from "../serving/forward.ts";
import type { UpstreamRequest } from "../serving/messages.ts";
import { type PreparedRequest, put } from "./enrich.ts";

/** The message of one attempt. Each rendering carries its own timestamp, and its signature if it is signed (spec 5.2). */
export function authenticate(
  { request, material }: Pick<Attempt<PreparedRequest>, "request" | "material">,
  unixSeconds: () => number,
): UpstreamRequest {
  const { route, parameters, headers } = request;
  return {
    path: `${route.environment.baseUrl.path}/${route.operation}`,
    headers: [...headers, ...material.headers],
    render: () => serialise(material.sign(stamp(parameters, material.identifier, unixSeconds()))),
  };
}

/**
 * The parameters of one attempt, without a signature.
 * @param identifier the value of `site_identifier`, which keeps the caller's position, or is added at the end
 */
export function stamp(parameters: readonly SentParameter[], identifier: string, unixSeconds: number): SentParameter[] {
  const stamped = [...parameters];
  put(stamped, "site_identifier", identifier);
  stamped.push({ name: "timestamp", value: String(Math.floor(unixSeconds)), isPlain: true });
  return stamped;
}

/**
 * Checks the caller's own signature over the parameters that the caller sent, before it is dropped: with the key that the
 * body names, else the site's default key (spec 5.3). Numbers and booleans are signed as they are written.
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
