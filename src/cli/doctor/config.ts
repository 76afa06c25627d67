import { X509Certificate } from "node:crypto";
import type { Config } from "../../config/config.ts";
import { inFileOrder } from "../../config/diagnostics.ts";
import { type Environment, splitCertificates } from "../../model/environment.ts";
import { type CallersTls, callersTlsOf, describeBind } from "../../model/listener.ts";
import { listNames } from "../../model/names.ts";
import { countOf } from "../command.ts";
import { printable } from "../terminal.ts";
import { type Check, type CheckResult, fail, formatSpan, ok, type Run, toCheck, warn } from "./check.ts";
import { evaluateTimeLeft } from "./connection.ts";

/**
 * What loading the configuration has shown; `check` describes what it says. A file that cannot be read is no warning: the
 * configuration is refused.
 */
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
    ...[...environments.values()].flatMap(({ name: environment, sites, siteFolder }) => {
      if (siteFolder === undefined) return [];
      const { path, refused } = siteFolder;
      const names = listNames(refused.map((each) => each.file));
      const result =
        refused.length === 0
          ? ok(countOf(sites.size, "site"))
          : fail(`${countOf(refused.length, "file")} refused: ${names}`, "countersign check says why");
      return [toCheck({ ...about(path), environment }, result)];
    }),
    ...[...environments.values()].flatMap((environment) =>
      findGaps(environment).map(([subject, result]) =>
        toCheck({ ...about(subject), environment: environment.name }, result),
      ),
    ),
  ];
}

function describeOrigins({ secretOrigins }: Config): string {
  const origins = [...new Set(secretOrigins?.values())];
  const files = origins.filter((origin) => origin.startsWith("file ")).length;
  const variables = origins.length - files;
  if (variables === 0) return `read from ${countOf(files, "file")}`;
  return `read from ${files > 0 ? `${countOf(files, "file")} and ` : ""}${countOf(variables, "environment variable")}`;
}

/** By number: an image without a shell has no list of names. */
function describeUser(): string {
  const { getuid, getgid } = process;
  return getuid === undefined || getgid === undefined ? "this user" : `user ${getuid()}, group ${getgid()}`;
}

/** Requests that a site may get, and that its settings do not serve. */
function findGaps({ sites, defaultSite, passThrough = [] }: Environment): [subject: string, result: CheckResult][] {
  const all = [...sites.values()];
  const gaps: [string, CheckResult][] = [];
  const keyless = all.filter((site) => site.checksCallerSignature && site.defaultKey === undefined);
  if (keyless.length > 0) {
    const names = listNames(keyless.map(({ identifier }) => identifier));
    const detail = `callers' own signatures for ${names} cannot be checked: no keys`;
    gaps.push(["signatures", warn(detail, "add the keys that callers sign with")]);
  }
  const able = all.filter(({ auth }) => auth.includes("oauth")).length;
  for (const { prefix, site = defaultSite } of passThrough) {
    if (site !== undefined || able === all.length) continue;
    const detail = `each request names its site in Countersign-Site, and only ${able} of ${all.length} sites use OAuth`;
    gaps.push([prefix, warn(detail, "add site to the route, or credentials to the other sites")]);
  }
  return gaps;
}

/** Whether the certificate of each listener, and the authorities of its callers' ones, are valid. */
export function checkCallers({ config, clock }: Run): Check[] {
  return config.listeners.flatMap(({ bind, environment, callers }) => {
    const tls = callersTlsOf(callers);
    if (tls === undefined) return [];
    return checkCertificates(tls, clock.wallMs()).map(([name, result]) =>
      toCheck({ topic: "caller", environment, subject: `${describeBind(bind)} ${name}` }, result),
    );
  });
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
