import type { SigningKey, Site } from "../model/environment.ts";
import type { CallerSignatureResult, Report } from "../model/events.ts";
import type { Secret } from "../model/secret.ts";
import type { Token } from "../oauth/token.ts";
import { findForbiddenCharacter, findSigner, isSigned, sign, stringToSign } from "../signing/signature.ts";
import type { PreparedRequest, SentParameter, UpstreamRequest } from "./messages.ts";
import { type Parameters, refuseParameter, showName } from "./parameters.ts";

export type AuthMaterial =
  | { readonly method: "hmac"; readonly key: SigningKey }
  | { readonly method: "oauth"; readonly token: Token };

/**
 * Checks the values to be signed by spec 5.2 rule 3, as far as the site's `characters` asks for it: HMAC only. Both the
 * warning and the refusal say where, but neither the value nor the character.
 * @throws ProxyError character_not_allowed
 */
export function checkCharacters(
  { route, parameters }: Pick<PreparedRequest, "route" | "parameters">,
  report: Report,
): void {
  const { auth, environment, site } = route;
  if (auth !== "hmac" || site.characters === "off") return;
  const found = findForbiddenCharacter(parameters, site.exempt);
  if (found === undefined) return;
  const { name: parameter, position } = found;
  if (site.characters === "reject") {
    const where = `The value of parameter ${showName(parameter)} has a character at position ${position}`;
    const rule = "that must not be signed: with HMAC only A-Z a-z 0-9 - _ and . are allowed, and no spaces.";
    throw refuseParameter("character_not_allowed", `${where} ${rule}`, parameter);
  }
  report({
    kind: "character_warned",
    environment: environment.name,
    site: site.identifier,
    parameter,
    position,
  });
}

/**
 * Makes one attempt of a prepared request. Each rendering carries its own timestamp and, with HMAC, a signature over
 * exactly the strings that are sent (spec 5.2); with OAuth the signature is omitted (spec 5.4).
 */
export function authenticate(
  prepared: PreparedRequest,
  material: AuthMaterial,
  unixSeconds: () => number,
): UpstreamRequest {
  const { route, parameters, headers } = prepared;
  const { environment, operation, site } = route;
  const path = `${environment.baseUrl.path}/${operation}`;
  switch (material.method) {
    case "oauth": {
      const authorization = authorizationOf(material.token);
      const render = () => serialise(stamp(parameters, unixSeconds()));
      return { path, headers: [...headers, "authorization", authorization], render };
    }
    case "hmac": {
      const render = () => {
        const stamped = stamp(parameters, unixSeconds());
        const signature = sign(stringToSign(stamped, site.exempt), material.key.secret);
        return serialise([...stamped, { name: "signature", value: signature, isPlain: true }]);
      };
      return { path, headers, render };
    }
  }
}

const authorizations = new WeakMap<Secret, string>();

/**
 * The value of Authorization (RFC 6750 section 2.1). The text is kept as long as the token: it
 * leaves with every request, and each reading of a Secret costs a buffer outside the heap.
 */
export function authorizationOf({ secret }: Token): string {
  let authorization = authorizations.get(secret);
  if (authorization === undefined) {
    authorization = `Bearer ${secret.reveal()}`;
    authorizations.set(secret, authorization);
  }
  return authorization;
}

/** What is sent in one attempt, but for the signature. */
export function stamp(parameters: readonly SentParameter[], unixSeconds: number): SentParameter[] {
  return [...parameters, { name: "timestamp", value: String(Math.floor(unixSeconds)), isPlain: true }];
}

/**
 * The body that is sent: the very strings that were signed, in their order (spec 2.1). It is written parameter by
 * parameter, never from an object, so neither `__proto__` nor a name that looks like an integer can change it.
 */
export function serialise(parameters: readonly SentParameter[]): string {
  let text = "";
  for (const { name, value, isPlain } of parameters) {
    // Names are of characters that need no escape.
    text += `${text === "" ? "" : ","}"${name}":${isPlain ? `"${value}"` : JSON.stringify(value)}`;
  }
  return `{${text}}`;
}

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
