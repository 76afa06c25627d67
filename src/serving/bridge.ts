import { ProxyError } from "../model/errors.ts";
import { type TokenOutage, tokenOutages } from "../model/events.ts";
import { findForbiddenCharacter } from "../parameters/signature.ts";
import { type AuthScheme, acquireToken, schemes, signWith, tokenSourceOf } from "./authentication.ts";
import { checkCharacters, describeForbidden } from "./characters.ts";

/**
 * A request of a site with `bridge: hmac` gets a token, or is signed if no token is available (spec 5.1 rule 3). If its values
 * must not be signed (spec 5.2 rule 3), it fails without a token. Half of its time is left to sign it.
 */
export const bridge: AuthScheme = {
  ...schemes.oauth,
  async acquire(request, context, parts) {
    const { route, parameters } = request;
    const { site } = route;
    const findForbidden = () =>
      site.characters === "reject" ? findForbiddenCharacter(parameters, site.exempt) : undefined;
    const signInstead = (bridged: TokenOutage) => {
      checkCharacters(request, parts.report);
      return { ...signWith(route), bridged };
    };
    const outage = tokenSourceOf(route, parts).outage();
    if (outage !== undefined && findForbidden() === undefined) return signInstead(outage);
    try {
      return await acquireToken(route, context.deadlineMs - context.allowedMs / 2, context, parts);
    } catch (error) {
      if (!isOutage(error)) throw error;
      const forbidden = findForbidden();
      if (forbidden === undefined) return signInstead(error.code);
      const { code, message, retryAfterMs, causedBy } = error;
      const what = `${message} It cannot be signed instead. ${describeForbidden(forbidden)}`;
      throw new ProxyError(code, what, { retryAfterMs, causedBy });
    }
  },
};

function isOutage(error: unknown): error is ProxyError & { readonly code: TokenOutage } {
  return error instanceof ProxyError && (tokenOutages as readonly string[]).includes(error.code);
}
