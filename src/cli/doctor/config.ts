import { X509Certificate } from "node:crypto";
import type { Config } from "../../config/config.ts";
import { located } from "../../config/diagnostics.ts";
import { formatSpan } from "../../model/clock.ts";
import { type Environment, splitCertificates } from "../../model/environment.ts";
import { callersTlsOf, describeBind } from "../../model/listener.ts";
import { listNames } from "../../model/names.ts";
import { countOf } from "../command.ts";
import { printable } from "../terminal.ts";
import { type Check, type CheckResult, fail, ok, type Run, toCheck, warn } from "./check.ts";
import { evaluateTimeLeft } from "./connection.ts";

/**
 * The findings of loading the configuration; `countersign check` describes its content. A file that cannot be read is no
 * warning: with such a file the configuration is refused.
 */
export function checkConfig({ file, config, warnings }: Run): Check[] {
  const { listeners, hash } = config;
  const environments = [...config.environments.values()];
  const counts = `${countOf(environments.length, "environment")}, ${countOf(listeners.length, "listener")}`;
  return [
    checked(file, ok(`${counts}, hash ${hash}`)),
    checked("secrets", ok(`${describeOrigins(config)}, as ${describeUser()}`)),
    ...checkWarnings(file, warnings),
    ...environments.flatMap(checkSiteFolder),
    ...environments.flatMap(findGaps),
  ];
}

/** A warning; of several only their codes, so that what fails is not below them. */
function checkWarnings(file: string, warnings: Run["warnings"]): Check[] {
  const [first, ...more] = located(warnings);
  if (first === undefined) return [];
  if (more.length === 0) {
    const { path, line, message, fix } = first;
    return [checked(path === "" ? file : `${path} (line ${line})`, warn(message, fix))];
  }
  const codes = [...new Set(warnings.map(({ code }) => code))].sort();
  const detail = `${warnings.length} warnings (${codes.join(", ")})`;
  return [checked(file, warn(detail, "countersign check says what to do about each"))];
}

function checked(subject: string, result: CheckResult, environment?: string): Check {
  return toCheck({ topic: "config", environment, subject }, result);
}

/** Whether all files of an environment's folder of sites, if there is one, are accepted. */
function checkSiteFolder({ name, sites, siteFolder }: Environment): Check[] {
  if (siteFolder === undefined) return [];
  const { path, refused } = siteFolder;
  const what = `${countOf(refused.length, "file")} refused: ${listNames(refused.map(({ file }) => file))}`;
  const result = refused.length === 0 ? ok(countOf(sites.size, "site")) : fail(what, "countersign check says why");
  return [checked(path, result, name)];
}

function describeOrigins({ secrets = () => [] }: Config): string {
  const origins = [...new Set(secrets().map(({ origin = "" }) => origin))];
  const files = origins.filter((origin) => origin.startsWith("file ")).length;
  const variables = origins.length - files;
  if (variables === 0) return `read from ${countOf(files, "file")}`;
  return `read from ${files > 0 ? `${countOf(files, "file")} and ` : ""}${countOf(variables, "environment variable")}`;
}

/** User and group as numbers: an image may have no /etc/passwd. */
function describeUser(): string {
  const { getuid, getgid } = process;
  return getuid === undefined || getgid === undefined ? "this user" : `user ${getuid()}, group ${getgid()}`;
}

/** Warns of requests that may come for a site, but that its settings cannot serve. */
function findGaps({ name, sites, defaultSite, passThrough = [] }: Environment): Check[] {
  const all = [...sites.values()];
  const gaps: Check[] = [];
  const keyless = all.filter((site) => site.checksCallerSignature && site.defaultKey === undefined);
  if (keyless.length > 0) {
    const names = listNames(keyless.map(({ identifier }) => identifier));
    const detail = `callers' own signatures for ${names} cannot be checked: no keys`;
    gaps.push(checked("signatures", warn(detail, "add the keys that callers sign with"), name));
  }
  const able = all.filter(({ auth }) => auth.includes("oauth")).length;
  for (const { prefix, site = defaultSite } of passThrough) {
    if (site !== undefined || able === all.length) continue;
    const detail = `each request names its site in Countersign-Site, and only ${able} of ${all.length} sites use OAuth`;
    const fix = "add site to the route, or let the other sites use it: credentials, and oauth in their auth";
    gaps.push(checked(prefix, warn(detail, fix), name));
  }
  return gaps;
}

/** Whether the certificates of each listener, and of the authorities for its callers, are valid. */
export function checkCallers({ config, clock }: Run): Check[] {
  return config.listeners.flatMap(({ bind, environment, callers }) => {
    const tls = callersTlsOf(callers);
    if (tls === undefined) return [];
    const check = (name: string, result: CheckResult) =>
      toCheck({ topic: "caller", environment, subject: `${describeBind(bind)} ${name}` }, result);
    const nowMs = clock.wallMs();
    return [
      check("certificate", evaluateCertificate(new X509Certificate(tls.cert), "mtls.certFile", nowMs)),
      ...splitCertificates(tls.ca).map((pem) => check("authority", evaluateAuthority(new X509Certificate(pem), nowMs))),
    ];
  });
}

/** An authority that has expired fails: the listener refuses its callers. */
function evaluateAuthority(certificate: X509Certificate, nowMs: number): CheckResult {
  const result = evaluateCertificate(certificate, "mtls.caFile", nowMs);
  if (certificate.ca || result.verdict === "fail") return result;
  const detail = `${nameOf(certificate)} is no authority: it vouches for itself alone`;
  return warn(detail, "give the authority's own certificate as mtls.caFile");
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
