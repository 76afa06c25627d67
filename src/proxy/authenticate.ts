import type { SigningKey } from "../model/environment.ts";
import type { Report } from "../model/events.ts";
import type { Token } from "../oauth/token.ts";
import { sign, stringToSign } from "../signing/hmac.ts";
import { findForbiddenCharacter } from "../signing/parameter-rules.ts";
import type { PreparedRequest, UpstreamRequest } from "./messages.ts";
import { refuseParameter, showName } from "./parameters.ts";

/** What a request is authenticated with. */
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
      const authorization = `Bearer ${material.token.secret.reveal()}`;
      const render = () => serialise(stamp(parameters, unixSeconds()));
      return { environment, path, headers: [...headers, "authorization", authorization], render };
    }
    case "hmac": {
      const render = () => {
        const stamped = stamp(parameters, unixSeconds());
        return serialise(stamped.set("signature", sign(stringToSign(stamped, site.exempt), material.key.secret)));
      };
      return { environment, path, headers, render };
    }
  }
}

/** What is sent in one attempt, but for the signature. */
export function stamp(parameters: ReadonlyMap<string, string>, unixSeconds: number): Map<string, string> {
  return new Map(parameters).set("timestamp", String(Math.floor(unixSeconds)));
}

/**
 * The body that is sent: the very strings that were signed, in their order (spec 2.1). It is written from the pairs, never
 * from an object, so neither `__proto__` nor a name that looks like an integer can change it.
 */
export function serialise(parameters: Iterable<readonly [name: string, value: string]>): string {
  const members = Array.from(parameters, ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return `{${members.join(",")}}`;
}
