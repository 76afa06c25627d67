import { ProxyError } from "../model/errors.ts";
import { type Report, type TokenOutage, tokenOutages } from "../model/events.ts";
import type { TokenSource } from "../oauth/token.ts";
import { findForbiddenCharacter } from "../signing/signature.ts";
import { checkCharacters } from "./authenticate.ts";
import type { RequestContext } from "./context.ts";
import { put } from "./enrich.ts";
import type { PreparedRequest, UpstreamResponse } from "./messages.ts";
import { identifierOf } from "./site.ts";

/**
 * Sends a request of a site with `bridge: hmac`: with a token, or signed where none can be had (spec 5.1 rule 3). Once anything
 * was sent, it stays with its token: a 401 is never answered by a signature.
 * @throws what `send` throws; where the values must not be signed (spec 5.2 rule 3), what it throws without a token
 */
export async function bridge(
  prepared: PreparedRequest,
  send: (prepared: PreparedRequest) => Promise<UpstreamResponse>,
  context: RequestContext,
  { source, report }: { readonly source: Pick<TokenSource, "outage">; readonly report: Report },
): Promise<UpstreamResponse> {
  const { site } = prepared.route;
  const sign = (reason: TokenOutage) => {
    const signed = toSigned(prepared);
    checkCharacters(signed, report);
    context.setRoute(signed.route);
    context.event.bridged = reason;
    return send(signed);
  };
  const isSignable = () =>
    site.characters !== "reject" || findForbiddenCharacter(prepared.parameters, site.exempt) === undefined;
  const outage = source.outage();
  if (outage !== undefined && isSignable()) return sign(outage);
  try {
    return await send(prepared);
  } catch (error) {
    if (!isOutage(error) || context.event.attempts > 0 || !isSignable()) throw error;
    return sign(error.code);
  }
}

function isOutage(error: unknown): error is ProxyError & { readonly code: TokenOutage } {
  return error instanceof ProxyError && (tokenOutages as readonly string[]).includes(error.code);
}

/** The same, to be signed: with the key that the caller named, or the site's default key. */
function toSigned({ route, headers, parameters }: PreparedRequest): PreparedRequest {
  const { site, key } = route;
  const signed = { ...route, auth: "hmac" as const, isBridged: false, identifier: identifierOf(site, "hmac", key) };
  const sent = [...parameters];
  put(sent, "site_identifier", signed.identifier);
  return { route: signed, headers, parameters: sent };
}
