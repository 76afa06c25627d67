import type { PassThroughRoute } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import type { ListenerContext } from "../serving/messages.ts";
import { originPath, type Target } from "../serving/target.ts";

/** Characters of a path (RFC 3986 section 3.3), with complete escapes only. */
const plainPath = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*$/;
/** A run of escapes, each for one byte. */
const escapes = /(?:%[0-9A-Fa-f]{2})+/g;
/** A path that still changes after so many decodings is refused. */
const mostDecodings = 4;
/** C0, DEL and C1. */
const control = /\p{Cc}/u;

/**
 * The route whose prefix is the longest that matches: `prefix` in origin-form, `upstreamPrefix` in absolute-form.
 * @returns undefined if the target belongs to no route
 */
export function findRoute(
  { scheme, path = "" }: Target,
  routes: readonly PassThroughRoute[],
): PassThroughRoute | undefined {
  let longest: PassThroughRoute | undefined;
  for (const route of routes) {
    if (!path.startsWith(beginningOf(route, scheme))) continue;
    if (longest === undefined || beginningOf(route, scheme).length > beginningOf(longest, scheme).length)
      longest = route;
  }
  return longest;
}

/**
 * The path that is sent, with its query. Only the prefix is replaced. A path that servers could read
 * in different ways is refused: it might reach a path outside the route.
 * @param target with a checked authority
 * @param host the request's only Host value
 * @throws ProxyError target_not_allowed
 */
export function resolvePath(target: Target, host: string, route: PassThroughRoute, listener: ListenerContext): string {
  const isOrigin = target.scheme === undefined;
  const whole = isOrigin ? originPath(target, host, listener) : (target.path ?? "");
  if (target.authority?.includes("@")) throw refuse("The request target carries user information");
  const rest = whole.slice(beginningOf(route, target.scheme).length);
  const query = rest.indexOf("?");
  const path = query === -1 ? rest : rest.slice(0, query);
  const why = explainDoubt(path, rest) ?? explainOther(whole.split("?", 1)[0] ?? "", target, route, listener);
  if (why !== undefined) throw refuse(`The path below ${route.prefix} ${why}`);
  return `${route.upstreamPrefix}${rest}`;
}

/** @throws ProxyError method_not_allowed */
export function checkMethod(method: string, { prefix, methods }: PassThroughRoute): void {
  if (methods.has(method)) return;
  const allow = [...methods].join(", ");
  throw new ProxyError("method_not_allowed", `${method} is not allowed below ${prefix}; its methods are ${allow}.`, {
    headers: ["Allow", allow],
  });
}

/** Why a path could be read in more than one way. */
function explainDoubt(path: string, whole: string): string | undefined {
  if (whole.includes("#")) return "has a fragment";
  if (!plainPath.test(path)) return "has a character that must be percent-encoded";
  // The prefix ends with a slash.
  if (path.startsWith("/") || path.includes("//")) return "has an empty segment";
  for (const segment of path.split("/")) {
    const text = decodeWhole(segment);
    if (text === undefined)
      return `has escapes that are not UTF-8, or that are encoded more than ${mostDecodings} times`;
    if (control.test(text)) return "has an encoded control character";
    if (/[/\\]/.test(text)) return "has an encoded slash or backslash";
    if (/^\.{1,2}$/.test(nameIn(text))) return "has a segment of dots";
  }
  return undefined;
}

/** A route with a longer prefix has its own methods, site and rights: no spelling may reach it through a shorter prefix. */
function explainOther(
  path: string,
  { scheme }: Target,
  route: PassThroughRoute,
  { environment: { passThrough: routes = [] } }: ListenerContext,
): string | undefined {
  const { length } = beginningOf(route, scheme);
  const longer = routes.map((other) => beginningOf(other, scheme)).filter((beginning) => beginning.length > length);
  if (longer.length === 0) return undefined;
  const names = path.split("/").map((segment) => nameIn(decodeWhole(segment) ?? segment).toLowerCase());
  const isOther = longer.some((beginning) => names.join("/").startsWith(beginning.toLowerCase()));
  return isOther ? "could be read as one of another route" : undefined;
}

/**
 * A segment as read by a server that decodes more than once.
 * @returns undefined if a decoding is not valid UTF-8 (RFC 3629 section 3), or if it still changes after `mostDecodings`
 */
function decodeWhole(segment: string): string | undefined {
  let text = segment;
  try {
    for (let decodings = 0; text.includes("%"); decodings += 1) {
      const decoded = text.replace(escapes, decodeURIComponent);
      if (decoded === text) break;
      if (decodings === mostDecodings) return undefined;
      text = decoded;
    }
  } catch {
    return undefined;
  }
  return text;
}

/** A segment as read by a server that cuts off parameters, a query or a fragment, and drops blanks. */
function nameIn(segment: string): string {
  return segment.replace(/[;?#].*$/s, "").replace(/\s/g, "");
}

/** The prefix that a target must have. A target with a scheme came through HTTP_PROXY, and has the baseUrl's own path. */
function beginningOf({ prefix, upstreamPrefix }: PassThroughRoute, scheme: string | undefined): string {
  return scheme === undefined ? prefix : upstreamPrefix;
}

function refuse(what: string): ProxyError {
  return new ProxyError("target_not_allowed", `${what}.`);
}
