import type { Site } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import { type CallerSignatureResult, type Report, type TokenOutage, tokenOutages } from "../model/events.ts";
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
import {
  type AuthMaterial,
  authorizationOf,
  type ForwardParts,
  sendAuthenticated,
  sourceOf,
} from "../serving/forward.ts";
import type { PreparedRequest, Send, UpstreamRequest, UpstreamResponse } from "../serving/messages.ts";
import { identifierOf } from "../serving/site.ts";
import { put } from "./enrich.ts";

export interface SendParts extends ForwardParts {
  readonly send: Send;
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
 * Sends a prepared request. Each attempt is built anew from it.
 * @throws what `sendAuthenticated` throws
 */
export function sendPrepared(
  prepared: PreparedRequest,
  context: RequestContext,
  parts: SendParts,
): Promise<UpstreamResponse> {
  return prepared.route.isBridged ? bridge(prepared, context, parts) : send(prepared, context, parts);
}

function send(prepared: PreparedRequest, context: RequestContext, parts: SendParts): Promise<UpstreamResponse> {
  const prepareAttempt = (material: AuthMaterial) => {
    const upstreamRequest = authenticate(prepared, material, () => parts.clock.wallMs() / 1_000);
    const sendOnce = context.trace?.traced(parts.send) ?? parts.send;
    const onLongHead = (bytes: number) => context.admission.buffer?.chargeAnswerHead(bytes);
    return (onConnected: () => void) => sendOnce(upstreamRequest, context.deadlineMs, onConnected, onLongHead);
  };
  return sendAuthenticated({ route: prepared.route, prepareAttempt, isRepeatable: () => true }, context, parts);
}

/**
 * Sends a request of a site with `bridge: hmac`: with a token, or signed if no token is available (spec 5.1 rule 3). A request
 * that was sent with a token is never signed afterwards, not even after a 401. If its values must not be signed (spec 5.2 rule
 * 3), it fails without a token.
 */
async function bridge(prepared: PreparedRequest, context: RequestContext, parts: SendParts): Promise<UpstreamResponse> {
  const { route, parameters } = prepared;
  const { site } = route;
  const sendSigned = (reason: TokenOutage) => {
    const signed = toSigned(prepared);
    checkCharacters(signed, parts.report);
    context.setRoute(signed.route);
    context.event.bridged = reason;
    return send(signed, context, parts);
  };
  const isSignable = () =>
    site.characters !== "reject" || findForbiddenCharacter(parameters, site.exempt) === undefined;
  const outage = sourceOf(route, parts).outage();
  if (outage !== undefined && isSignable()) return sendSigned(outage);
  try {
    return await send(prepared, context, parts);
  } catch (error) {
    if (!isOutage(error) || context.event.attempts > 0 || !isSignable()) throw error;
    return sendSigned(error.code);
  }
}

function isOutage(error: unknown): error is ProxyError & { readonly code: TokenOutage } {
  return error instanceof ProxyError && (tokenOutages as readonly string[]).includes(error.code);
}

/** The same request, to be signed with the key that the caller named, or the site's default key. */
function toSigned({ route, headers, parameters }: PreparedRequest): PreparedRequest {
  const { site, key } = route;
  const signed = { ...route, auth: "hmac" as const, isBridged: false, identifier: identifierOf(site, "hmac", key) };
  const sent = [...parameters];
  put(sent, "site_identifier", signed.identifier);
  return { route: signed, headers, parameters: sent };
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
  if (material.method === "oauth") {
    const render = () => serialise(stamp(parameters, unixSeconds()));
    return { path, headers: [...headers, "authorization", authorizationOf(material.token)], render };
  }
  const render = () => {
    const stamped = stamp(parameters, unixSeconds());
    const signature = sign(stringToSign(stamped, site.exempt), material.key.secret);
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
