import { X509Certificate } from "node:crypto";
import type { Config, ListenerConfig } from "../../config/config.ts";
import { inFileOrder } from "../../config/diagnostics.ts";
import { type Environment, type PassThroughRoute, type Site, splitCertificates } from "../../model/environment.ts";
import { type CallersTls, callersOf, callersTlsOf, describeBind } from "../../model/listener.ts";
import { listNames } from "../../model/names.ts";
import { countOf } from "../command.ts";
import { printable } from "../terminal.ts";
import { type Check, type CheckResult, fail, formatSpan, ok, type Run, toCheck, warn } from "./check.ts";
import { evaluateTimeLeft } from "./connection.ts";

/** What loading the configuration has shown. A file that cannot be read is no warning: the configuration is refused. */
export function checkConfig({ file, config, warnings }: Run): Check[] {
  const { environments, listeners, hash } = config;
  const counts = `${countOf(environments.size, "environment")}, ${countOf(listeners.length, "listener")}`;
  const about = (subject: string) => ({ topic: "config" as const, subject });
  return [
    toCheck(about(file), ok(`${counts}, hash ${hash}`)),
    toCheck(about("secrets"), ok(`${describeOrigins(config)}, as ${describeUser()}`)),
    ...inFileOrder(warnings).map(({ path, line, message, fix }) =>
      toCheck(about(path === "" ? file : `${path} (line ${line})`), warn(message, fix)),
    ),
    ...[...environments.values()].flatMap((environment) => {
      const result = evaluateSignatures(environment);
      return result === undefined ? [] : toCheck({ ...about("signatures"), environment: environment.name }, result);
    }),
  ];
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
  const chosen = site ?? defaultSite;
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

/** Who may call on each listener, and whether its certificate and the authorities of its callers' ones are valid. */
export function checkCallers({ config, clock }: Run): Check[] {
  return config.listeners.flatMap((listener) => {
    const { bind, environment, callers } = listener;
    if (callers === undefined || callers.kind === "anyone") return [];
    const about = { topic: "caller" as const, environment };
    const subject = describeBind(bind);
    const tls = callersTlsOf(callers);
    const certificates = tls === undefined ? [] : checkCertificates(tls, clock.wallMs());
    return [
      toCheck({ ...about, subject }, describeCallers(listener)),
      ...certificates.map(([name, result]) => toCheck({ ...about, subject: `${subject} ${name}` }, result)),
    ];
  });
}

function describeCallers({ callers }: ListenerConfig): CheckResult {
  const all = callersOf(callers);
  const limited = all.filter(({ sites, operations }) => sites !== "any" || operations !== "any").length;
  const rated = all.filter(({ requestsPerSecond }) => requestsPerSecond !== undefined).length;
  const by = callers?.kind === "named" && callers.tls !== undefined ? "certificate" : "token";
  const rights = `${limited} with sites or operations of its own, ${rated} with requestsPerSecond`;
  return ok(`${all.length} by ${by}: ${limited + rated === 0 ? "all may do everything" : rights}`);
}

/** The listener's own certificate, and each authority: an authority of the past refuses its callers. */
function checkCertificates({ cert, ca }: CallersTls, nowMs: number): [string, CheckResult][] {
  const authorities = splitCertificates(ca).map((pem): [string, CheckResult] => {
    const authority = new X509Certificate(pem);
    const result = evaluateCertificate(authority, "mtls.caFile", nowMs);
    const detail = `${nameOf(authority)} is no authority: it vouches for itself alone`;
    const fix = "give the authority's own certificate as mtls.caFile";
    return ["authority", authority.ca || result.verdict === "fail" ? result : warn(detail, fix)];
  });
  return [["certificate", evaluateCertificate(new X509Certificate(cert), "mtls.certFile", nowMs)], ...authorities];
}

function evaluateCertificate(certificate: X509Certificate, setting: string, nowMs: number): CheckResult {
  const name = nameOf(certificate);
  const [aheadMs, leftMs] = [Date.parse(certificate.validFrom) - nowMs, Date.parse(certificate.validTo) - nowMs];
  if (aheadMs > 0) {
    const fix = `set this machine's clock, or renew ${setting}`;
    return fail(`${name} is not valid yet, but in ${formatSpan(aheadMs)}`, fix);
  }
  if (leftMs < 0) return fail(`${name} expired ${formatSpan(-leftMs)} ago: no handshake succeeds`, `renew ${setting}`);
  return evaluateTimeLeft(name, leftMs, `renew ${setting} before that`);
}

function nameOf({ subject, subjectAltName }: X509Certificate): string {
  return printable((subject?.trim() || subjectAltName || "nameless").split("\n").join(", "));
}
