import type { Environment, PassThroughRoute, Site } from "../../model/environment.ts";
import { type Check, type CheckResult, ok, type Run, warn } from "./check.ts";

/** Where each pass-through route leads, and as which site. Its host and its token are checked with the environment. */
export function checkPassThrough({ config }: Run): Check[] {
  return [...config.environments.values()].flatMap((environment) =>
    (environment.passThrough ?? []).map((route) => {
      const about = { topic: "route" as const, environment: environment.name, subject: route.prefix };
      return { ...about, ...describeRoute(route, environment), tookMs: 0 };
    }),
  );
}

function describeRoute(
  { upstreamPrefix, methods, site, upgrade }: PassThroughRoute,
  { baseUrl, defaultSite, sites }: Environment,
): CheckResult {
  const [only] = sites.size === 1 ? sites.keys() : [];
  const chosen = site ?? defaultSite ?? only;
  const leads = `${[...methods].join(", ")}${upgrade === undefined ? "" : " and WebSocket"} pass to ${baseUrl.origin}${upstreamPrefix}`;
  if (chosen !== undefined) return ok(`${leads} as ${chosen}`);
  const able = [...sites.values()].filter(usesOauth).length;
  const who = `${leads}; each request names its site in Countersign-Site`;
  if (able === sites.size) return ok(who);
  const fix = "add site to the route, or credentials to the other sites";
  return warn(`${who}, and only ${able} of ${sites.size} sites use OAuth`, fix);
}

function usesOauth({ auth }: Site): boolean {
  return auth.includes("oauth");
}
