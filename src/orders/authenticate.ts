import type { Site } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import { type CallerSignatureResult, type Report, type TokenOutage, tokenOutages } from "../model/events.ts";
import { authorizationOf } from "../oauth/token.ts";
import { type Parameters, refuseParameter, showName } from "../parameters/parameters.ts";
import {
  findForbiddenCharacter,
  findSigner,
  isSigned,
  type SentParameter,
  serialise,
  sign,
  stringToSign,
} from "../parameters/signature.ts";
import type { RequestContext } from "../serving/context.ts";
import { type Attempt, acquireToken, type TokenParts, tokenSourceOf } from "../serving/forward.ts";
import type { AuthMaterial, UpstreamRequest } from "../serving/messages.ts";
import { identifierOf, keyOf } from "../serving/site.ts";
import { type PreparedRequest, put } from "./enrich.ts";

interface AuthenticateParts extends TokenParts {
  readonly report: Report;
}

/**
 * Checks the values to be signed by spec 5.2 rule 3: with HMAC only, and if the site's `characters` demands it. Warning and
 * refusal name the position, but neither the value nor the character.
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

function describeForbidden({ name, position }: { readonly name: string; readonly position: number }): string {
  const where = `The value of parameter ${showName(name)} has a character at position ${position}`;
  return `${where} that must not be signed: with HMAC only A-Z a-z 0-9 - _ and . are allowed, and no spaces.`;
}

/** A prepared request, and the key or token that authenticates it. */
export interface Authenticated {
  readonly prepared: PreparedRequest;
  readonly material: AuthMaterial;
  /** Why it is signed in place of carrying a token. */
  readonly bridged?: TokenOutage;
}

/**
 * Gets the key that signs a request, or a token. Nothing is sent before.
 * @throws ProxyError of the token source
 */
export async function acquireMaterial(
  prepared: PreparedRequest,
  context: RequestContext,
  parts: AuthenticateParts,
): Promise<Authenticated> {
  const { route } = prepared;
  if (route.auth === "hmac") return { prepared, material: { key: keyOf(route) } };
  if (route.isBridged) return bridge(prepared, context, parts);
  return { prepared, material: await acquireToken(route, context.deadlineMs, context, parts) };
}

/**
 * A request of a site with `bridge: hmac` gets a token, or is signed if no token is available (spec 5.1 rule 3). If its values
 * must not be signed (spec 5.2 rule 3), it fails without a token. Half of its time is left to sign it.
 */
async function bridge(
  prepared: PreparedRequest,
  context: RequestContext,
  parts: AuthenticateParts,
): Promise<Authenticated> {
  const { route, parameters } = prepared;
  const { site } = route;
  const findForbidden = () =>
    site.characters === "reject" ? findForbiddenCharacter(parameters, site.exempt) : undefined;
  const outage = tokenSourceOf(route, parts).outage();
  if (outage !== undefined && findForbidden() === undefined) return toSigned(prepared, outage, parts.report);
  try {
    const untilMs = context.deadlineMs - context.allowedMs / 2;
    return { prepared, material: await acquireToken(route, untilMs, context, parts) };
  } catch (error) {
    if (!isOutage(error)) throw error;
    const forbidden = findForbidden();
    if (forbidden === undefined) return toSigned(prepared, error.code, parts.report);
    const { code, message, retryAfterMs, causedBy } = error;
    throw new ProxyError(code, `${message} It cannot be signed instead. ${describeForbidden(forbidden)}`, {
      retryAfterMs,
      causedBy,
    });
  }
}

function isOutage(error: unknown): error is ProxyError & { readonly code: TokenOutage } {
  return error instanceof ProxyError && (tokenOutages as readonly string[]).includes(error.code);
}

/** The same request, to be signed with the key that the caller named, or the site's default key. */
function toSigned(
  { route, headers, parameters }: PreparedRequest,
  bridged: TokenOutage,
  report: Report,
): Authenticated {
  const { site, key } = route;
  const signed = { ...route, auth: "hmac" as const, isBridged: false, identifier: identifierOf(site, "hmac", key) };
  const sent = [...parameters];
  put(sent, "site_identifier", signed.identifier);
  const prepared = { route: signed, headers, parameters: sent };
  checkCharacters(prepared, report);
  return { prepared, material: { key: keyOf(signed) }, bridged };
}

/**
 * The message of one attempt. Each rendering carries its own timestamp and, with a key, a signature over exactly the strings
 * that are sent (spec 5.2); with a token the signature is omitted (spec 5.4).
 */
export function authenticate(
  { request, material }: Pick<Attempt<PreparedRequest>, "request" | "material">,
  unixSeconds: () => number,
): UpstreamRequest {
  const { route, parameters, headers } = request;
  const { environment, operation, site } = route;
  const path = `${environment.baseUrl.path}/${operation}`;
  const { token, key } = material;
  if (token !== undefined) {
    const render = () => serialise(stamp(parameters, unixSeconds()));
    return { path, headers: [...headers, "authorization", authorizationOf(token)], render };
  }
  const render = () => {
    const stamped = stamp(parameters, unixSeconds());
    const signature = sign(stringToSign(stamped, site.exempt), key.secret);
    return serialise([...stamped, { name: "signature", value: signature, isPlain: true }]);
  };
  return { path, headers, render };
}

/** The parameters of one attempt: with a timestamp, without a signature. */
export function stamp(parameters: readonly SentParameter[], unixSeconds: number): SentParameter[] {
  return [...parameters, { name: "timestamp", value: String(Math.floor(unixSeconds)), isPlain: true }];
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
