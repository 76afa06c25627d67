import type { Environment, PassThroughRoute } from "../model/environment.ts";
import { ProxyError } from "../model/errors.ts";
import type { ListenerContext } from "../proxy/messages.ts";
import { originPath, type Target } from "../proxy/target.ts";

/** Characters of a path (RFC 3986 section 3.3), each escape whole. */
const plainPath = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*$/;
/** What a server may take for a slash or collapse into one. */
const doubtfulSlash = /\/\/|%2f|%5c/i;
/** What a server may climb by; some ignore what follows a semicolon. */
const dotSegment = /(?:^|\/)(?:\.|%2e){1,2}(?:;[^/]*)?(?:\/|$)/i;

/**
 * The route of a request target, by the longest prefix: of its own in origin-form, of the baseUrl's in absolute-form.
 * @returns undefined where the target is none of them
 */
export function findRoute(
  { scheme, path = "" }: Target,
  routes: readonly PassThroughRoute[],
): PassThroughRoute | undefined {
  return routes.find((route) => path.startsWith(scheme === undefined ? route.prefix : route.upstreamPrefix));
}

/**
 * The path that is sent, with its query: to the letter as it came, but for the prefix. Every server must read it in one way only,
 * or another path than those of the route could be reached.
 * @param target its authority is checked
 * @param host the request's only Host value
 * @throws ProxyError target_not_allowed
 */
export function resolvePath(target: Target, host: string, route: PassThroughRoute, listener: ListenerContext): string {
  const isOrigin = target.scheme === undefined;
  const whole = isOrigin ? originPath(target, host, listener) : (target.path ?? "");
  if (target.authority?.includes("@")) throw refuse("The request target carries user information");
  const rest = whole.slice((isOrigin ? route.prefix : route.upstreamPrefix).length);
  const query = rest.indexOf("?");
  const path = query === -1 ? rest : rest.slice(0, query);
  const why = explainDoubt(path, rest);
  if (why !== undefined) throw refuse(`The path below ${route.prefix} ${why}`);
  return `${route.upstreamPrefix}${rest}`;
}

/** @throws ProxyError method_not_allowed */
export function checkMethod(method: string, { prefix, methods }: PassThroughRoute): void {
  if (methods.has(method)) return;
  const allow = [...methods].join(", ");
  throw new ProxyError("method_not_allowed", `${method} is not allowed below ${prefix}; its methods are ${allow}.`, {
    allow,
  });
}

/** Whether a path can be read in more than one way. The same holds for a prefix. */
export function explainDoubt(path: string, whole = path): string | undefined {
  if (whole.includes("#")) return "has a fragment";
  if (!plainPath.test(path)) return "has a character that must be percent-encoded";
  // The prefix ends with a slash.
  if (path.startsWith("/") || doubtfulSlash.test(path)) return "has an empty segment, or an encoded slash";
  return dotSegment.test(path) ? "has a segment of dots" : undefined;
}

/** Labels of metrics: the configured prefixes. */
export function prefixesOf({ passThrough = [] }: Environment): string[] {
  return passThrough.map(({ prefix }) => prefix);
}

function refuse(what: string): ProxyError {
  return new ProxyError("target_not_allowed", `${what}.`);
}
