import type { PassThroughRoute, Site } from "../../model/environment.ts";
import { ownPrefix } from "../../model/listener.ts";
import type { RawEnvironment, RawPassThroughRoute } from "../form/environment.ts";
import type { LoadContext } from "./load-context.ts";

/** Escapes, empty segments and dots: servers read them in different ways. */
const doubtful = /%|\\|;|(?:^|\/)\.{1,2}(?:\/|$)|\/\//;

/**
 * Checks and loads an environment's pass-through routes, longest prefix first.
 * @param sites undefined if they have files of their own, which come and go: then each request's site is checked instead
 * @param context of `passThrough`
 */
export function loadPassThrough(
  raw: RawEnvironment,
  sites: ReadonlyMap<string, Site> | undefined,
  context: LoadContext,
): PassThroughRoute[] | undefined {
  const { passThrough, baseUrl } = raw;
  if (passThrough.length === 0) return undefined;
  if (raw.operations.includes("*")) {
    const message = 'operations is ["*"], so every path may be an operation, and none is left for routes';
    context.report(message, "name the operations");
  }
  const routes: PassThroughRoute[] = [];
  for (const [route, at] of context.each(passThrough)) {
    const { prefix, upstreamPrefix = `${baseUrl.path}${prefix}`, methods, site, upgrade, idleTimeout: idleMs } = route;
    checkPrefix(route, raw, at);
    const loaded = { prefix, upstreamPrefix, methods: new Set(methods), site, upgrade, idleMs };
    checkApart(loaded, routes, at);
    if (sites !== undefined) checkSite(route, raw, sites, at.in("site"));
    if (upgrade !== undefined && !methods.includes("GET")) {
      at.in("upgrade").report("a WebSocket begins with a GET, which is not among the methods", "add GET");
    }
    routes.push(loaded);
  }
  return routes.sort((a, b) => b.prefix.length - a.prefix.length);
}

/** Callers' rights are by prefix: if two prefixes lead to one path at the service, a right to either reaches it. */
function checkApart(route: PassThroughRoute, earlier: readonly PassThroughRoute[], context: LoadContext): void {
  const { prefix, upstreamPrefix } = route;
  if (earlier.some((other) => other.prefix === prefix)) {
    context.in("prefix").report("two routes have this prefix", "keep one of them, with the methods of both", prefix);
  }
  const other = earlier.find((each) => isReachedBy(route, each) || isReachedBy(each, route));
  if (other === undefined) return;
  const message = `this and ${other.prefix} lead to one path at the service: ${upstreamPrefix} and ${other.upstreamPrefix}`;
  context.report(message, "let them lead to different paths, since callers have rights by prefix", prefix);
}

/** Whether the other route leads to this route's paths at the service too, from other paths of requests. */
function isReachedBy({ prefix, upstreamPrefix }: PassThroughRoute, other: PassThroughRoute): boolean {
  if (prefix === other.prefix || !isBelow(upstreamPrefix, other.upstreamPrefix)) return false;
  return prefix !== `${other.prefix}${upstreamPrefix.slice(other.upstreamPrefix.length)}`;
}

/** Ignores case, as some services do. */
function isBelow(path: string, prefix: string): boolean {
  return path.toLowerCase().startsWith(prefix.toLowerCase());
}

function checkPrefix(
  { prefix, upstreamPrefix }: RawPassThroughRoute,
  { operations, baseUrl }: RawEnvironment,
  context: LoadContext,
): void {
  const atPrefix = context.in("prefix");
  for (const [name, path] of Object.entries({ prefix, upstreamPrefix })) {
    if (path === undefined || !doubtful.test(path)) continue;
    const message = "a server could read this path in another way: it has escapes, dots or semicolons for segments";
    context.in(name).report(message, "write plain segments");
  }
  if (isBelow(prefix, ownPrefix)) {
    atPrefix.report(`the paths below ${ownPrefix} are Countersign's own`, "write another prefix");
  }
  const operation = operations.find((name) => isBelow(`/${name}/`, prefix));
  if (operation !== undefined) {
    atPrefix.report(`the operation ${operation} is below this prefix`, "write another prefix, or remove the operation");
  }
  if (upstreamPrefix === undefined && baseUrl.path !== "" && prefix.startsWith(`${baseUrl.path}/`)) {
    const fix = `leave ${baseUrl.path} out of the prefix, or say in upstreamPrefix where it leads`;
    atPrefix.report(`the prefix begins with the baseUrl's path, ${baseUrl.path}, which would be sent twice`, fix);
  }
  const upstream = upstreamPrefix ?? `${baseUrl.path}${prefix}`;
  const hidden = operations.find((name) => isBelow(`${baseUrl.path}/${name}/`, upstream));
  if (hidden !== undefined && operation === undefined) {
    const fix = "write a path that no operation is below";
    context.in("upstreamPrefix").report(`the operation ${hidden} is below this path at the service`, fix);
  }
}

const letOneUseOAuth = "let one use it: credentials, and oauth in its auth";

/** Pass-through requests can only carry a token, so their site must use OAuth. */
function checkSite(
  { site }: RawPassThroughRoute,
  { defaultSite }: RawEnvironment,
  sites: ReadonlyMap<string, Site>,
  context: LoadContext,
): void {
  const chosen = site ?? defaultSite;
  const all = [...sites.values()];
  const withOauth = all.filter(({ auth }) => auth.includes("oauth")).map(({ identifier }) => identifier);
  const shown = withOauth.slice(0, 3).join(", ");
  if (site !== undefined && !sites.has(site)) {
    context.report("there is no such site", `name one that uses OAuth: ${shown || "none does"}`);
  } else if (chosen !== undefined && sites.has(chosen) && !withOauth.includes(chosen)) {
    const message = `site ${chosen} does not use OAuth, and HMAC signs parameters, which these requests have none of`;
    context.report(message, shown === "" ? letOneUseOAuth : `name one that does: ${shown}`);
  } else if (chosen === undefined && withOauth.length === 0 && all.length > 0) {
    context.report("no site of this environment uses OAuth, and these requests carry a token", letOneUseOAuth);
  }
}
