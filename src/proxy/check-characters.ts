import { ProxyError } from "../model/errors.ts";
import type { Report } from "../model/events.ts";
import { findForbiddenCharacter } from "../signing/characters.ts";
import type { PreparedRequest } from "./messages.ts";
import { nameInLog, showName } from "./parameter-name.ts";

/**
 * Holds the values to be signed to spec 5.2 rule 3, as far as the site's `characters` wants it: HMAC only. Both the
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
  const { name, position } = found;
  if (site.characters === "reject") throw refuse(name, position);
  report({
    kind: "character_warned",
    environment: environment.name,
    site: site.identifier,
    parameter: name,
    position,
  });
}

function refuse(name: string, position: number): ProxyError {
  return new ProxyError(
    "character_not_allowed",
    `The value of parameter ${showName(name)} has a character at position ${position} that must not be signed: with ` +
      "HMAC only A-Z a-z 0-9 - _ and . are allowed, and no spaces.",
    { causedBy: nameInLog(name) },
  );
}
