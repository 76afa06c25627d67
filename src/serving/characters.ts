import type { Report } from "../model/events.ts";
import { refuseParameter, showName } from "../parameters/parameters.ts";
import { findForbiddenCharacter } from "../parameters/signature.ts";
import type { Unauthenticated } from "./messages.ts";

/**
 * Checks the values to be signed by spec 5.2 rule 3, if the site's `characters` demands it. Warning and refusal name the
 * position, but neither the value nor the character.
 * @throws ProxyError character_not_allowed
 */
export function checkCharacters({ route: { environment, site }, parameters }: Unauthenticated, report: Report): void {
  if (site.characters === "off") return;
  const found = findForbiddenCharacter(parameters, site.exempt);
  if (found === undefined) return;
  const { name: parameter, position } = found;
  if (site.characters === "reject") {
    throw refuseParameter("character_not_allowed", describeForbidden(found), parameter);
  }
  report({
    kind: "character_warned",
    environment: environment.name,
    site: site.identifier,
    parameter,
    position,
  });
}

export function describeForbidden({ name, position }: { readonly name: string; readonly position: number }): string {
  const where = `The value of parameter ${showName(name)} has a character at position ${position}`;
  return `${where} that must not be signed: with HMAC only A-Z a-z 0-9 - _ and . are allowed, and no spaces. Send the value without it.`;
}
