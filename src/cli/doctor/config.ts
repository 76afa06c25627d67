import type { Config } from "../../config/config.ts";
import { inFileOrder } from "../../config/diagnostics.ts";
import type { Environment, PassThroughRoute, Site } from "../../model/environment.ts";
import { listNames } from "../../model/names.ts";
import { countOf } from "../command.ts";
import { type Check, type CheckResult, ok, type Run, toCheck, warn } from "./check.ts";

/** What loading the configuration has shown. A file that cannot be read is no warning: the configuration is refused. */
export function checkConfig({ file, config, warnings }: Run): Check[] {
  const { environments, listeners, hash } = config;
  const counts = `${countOf(environments.size, "environment")}, ${countOf(listeners.length, "listener")}`;
  const results = [
    { subject: file, ...ok(`${counts}, hash ${hash}`) },
    { subject: "secrets", ...ok(`${describeOrigins(config)}, as ${describeUser()}`) },
    ...inFileOrder(warnings).map(({ path, line, message, fix }) => {
      return { subject: path === "" ? file : `${path} (line ${line})`, ...warn(message, fix) };
    }),
  ];
  return results.map(({ subject, ...result }) => toCheck({ topic: "config", subject }, result));
}

function describeOrigins({ secretOrigins }: Config): string {
  const origins = [...new Set(secretOrigins?.values())];
  const files = origins.filter((origin) => origin.startsWith("file ")).length;
  const variables = origins.length - files;
  if (variables === 0) return `read from ${countOf(files, "file")}`;
  return `read from ${files > 0 ? `${countOf(files, "file")} and ` : ""}${countOf(variables, "environment variable")}`;
}

/** By number: an image without a shell has no names. */
function describeUser(): string {
  const { getuid, getgid } = process;
  return getuid === undefined || getgid === undefined ? "this user" : `user ${getuid()}, group ${getgid()}`;
}

/** Where signatures of callers are checked: whether there are keys to check them with. */
export function checkCallerSignatures({ config }: Run): Check[] {
  return [...config.environments.values()].flatMap((environment) => {
    const result = evaluateSignatures(environment);
    if (result === undefined) return [];
    return [toCheck({ topic: "config", environment: environment.name, subject: "signatures" }, result)];
  });
}

function evaluateSignatures({ sites }: Environment): CheckResult | undefined {
  const checked = [...sites.values()].filter(({ checksCallerSignature }) => checksCallerSignature);
  if (checked.length === 0) return undefined;
  const without = checked.filter(({ defaultKey }) => defaultKey === undefined).map(({ identifier }) => identifier);
  if (without.length === 0) return ok(`callers' own signatures are checked at ${countOf(checked.length, "site")}`);
  const detail = `callers' own signatures for ${listNames(without)} cannot be checked: no keys`;
  return warn(detail, "add the keys that callers sign with");
}

/** Where each pass-through route leads, and as which site. Its host and its token are checked with the environment. */
export function checkPassThrough({ config }: Run): Check[] {
  return [...config.environments.values()].flatMap((environment) =>
    (environment.passThrough ?? []).map((route) => {
      const about = { topic: "route" as const, environment: environment.name, subject: route.prefix };
      return toCheck(about, describeRoute(route, environment));
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
