import type { AuthMethod } from "../model/environment.ts";
import { shutDown } from "../model/errors.ts";
import type { Report } from "../model/events.ts";
import { authorizationOf, type Token, type TokenSource } from "../oauth/token.ts";
import { sign, stringToSign } from "../parameters/signature.ts";
import { checkCharacters } from "./characters.ts";
import type { RequestContext } from "./context.ts";
import type { AuthMaterial, Unauthenticated } from "./messages.ts";

export interface TokenParts {
  /** The tokens of the credential sets configured at a site. */
  readonly tokensOf: (environment: string, owner: string) => TokenSource;
}

export interface AcquireParts extends TokenParts {
  readonly report: Report;
}

/** A way to authenticate (RFC 9110 section 11.1), chosen once, with the site. Nothing else asks which one it is. */
export interface AuthScheme {
  /** As the configuration, the log and metrics name it. */
  readonly name: AuthMethod;
  /** It signs parameters, so no body can pass unread. */
  readonly signs: boolean;
  /** @throws ProxyError character_not_allowed */
  readonly check: (request: Unauthenticated, report: Report) => void;
  /**
   * Gets a key or a token. Nothing is sent before.
   * @throws ProxyError of the token source
   */
  readonly acquire: (
    request: Unauthenticated,
    context: RequestContext,
    parts: AcquireParts,
  ) => AuthMaterial | Promise<AuthMaterial>;
}

/** The schemes by name. A site with `bridge` has one more, see bridge.ts. */
export const schemes: { readonly [Name in AuthMethod]: AuthScheme } = {
  oauth: {
    name: "oauth",
    signs: false,
    check() {},
    acquire: ({ route }, context, parts) => acquireToken(route, context.deadlineMs, context, parts),
  },
  hmac: { name: "hmac", signs: true, check: checkCharacters, acquire: ({ route }) => signWith(route) },
};

/**
 * Signs with the key that the caller named, else with the site's default key (spec 5.3). The configuration makes sure that a
 * site with HMAC has exactly one default. Such a site may be configured to send that key's identifier instead of its own.
 */
export function signWith({ site, key: named }: Unauthenticated["route"]): AuthMaterial {
  const key = named === undefined ? site.defaultKey : site.keys.find(({ identifier }) => identifier === named);
  if (key === undefined) throw new Error("a site with hmac has a key");
  return {
    auth: "hmac",
    key: key.identifier,
    identifier: named ?? (site.identifyBy === "key" ? site.defaultKey?.identifier : undefined) ?? site.identifier,
    headers: [],
    sign(parameters) {
      const value = sign(stringToSign(parameters, site.exempt), key.secret);
      return [...parameters, { name: "signature", value, isPlain: true }];
    },
  };
}

/** Carries a token; the signature is omitted (spec 5.4). */
export function carry(token: Token, source: TokenSource, { site, key }: Unauthenticated["route"]): AuthMaterial {
  return {
    auth: "oauth",
    credential: token.credential,
    identifier: key ?? site.identifier,
    headers: ["authorization", authorizationOf(token)],
    sign: (parameters) => parameters,
    bearer: { token, source },
  };
}

/**
 * Gets a token. Waits if there is none in memory.
 * @param untilMs on the monotonic clock
 * @throws ProxyError of the token source; `draining` if the process ends first
 */
export async function acquireToken(
  route: Unauthenticated["route"],
  untilMs: number,
  context: RequestContext,
  parts: TokenParts,
): Promise<AuthMaterial> {
  const source = tokenSourceOf(route, parts);
  const get = () => source.get(untilMs);
  return carry(await context.awaitToken(get, () => Promise.reject(shutDown(false))), source, route);
}

export function tokenSourceOf({ environment, site }: Unauthenticated["route"], { tokensOf }: TokenParts): TokenSource {
  if (site.credentials === undefined) throw new Error("a site with oauth has credentials");
  return tokensOf(environment.name, site.credentials.owner);
}
