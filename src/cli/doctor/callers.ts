import { X509Certificate } from "node:crypto";
import type { ListenerConfig } from "../../config/config.ts";
import { splitCertificates } from "../../model/environment.ts";
import { type CallersTls, callersOf, callersTlsOf, describeBind } from "../../model/listener.ts";
import { printable } from "../terminal.ts";
import { type Check, type CheckResult, fail, formatSpan, ok, type Run, toCheck, warn } from "./check.ts";

const dayMs = 86_400_000;
/** As towards the service: authorities renew earlier than that. */
const renewalMs = 14 * dayMs;

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

/** What the configuration could be narrowed by is a warning of its own (callers_without_rights). */
function describeCallers({ callers }: ListenerConfig): CheckResult {
  if (callers?.kind === "mtls") return ok("every certificate of its authorities comes in");
  const all = callersOf(callers);
  const limited = all.filter(({ sites, operations }) => sites !== "any" || operations !== "any").length;
  const rated = all.filter(({ requestsPerSecond }) => requestsPerSecond !== undefined).length;
  const by = callers?.kind === "named" && callers.tls !== undefined ? "certificate" : "token";
  const rights = `${limited} with sites or operations of its own, ${rated} with requestsPerSecond`;
  return ok(`${all.length} by ${by}: ${limited + rated === 0 ? "all may do everything" : rights}`);
}

/** The listener's own certificate, and each authority: an authority of the past refuses its callers. */
function checkCertificates({ cert, ca }: CallersTls, nowMs: number): [string, CheckResult][] {
  const own = new X509Certificate(cert);
  const authorities = splitCertificates(ca).map((pem) => new X509Certificate(pem));
  return [
    ["certificate", checkValidity(own, "mtls.certFile", nowMs)],
    ...authorities.map((authority): [string, CheckResult] => {
      const result = checkValidity(authority, "mtls.caFile", nowMs);
      const isAuthority = authority.ca || result.verdict === "fail";
      return [
        "authority",
        isAuthority
          ? result
          : warn(
              `${nameOf(authority)} is no authority: it vouches for itself alone`,
              "give the authority's own certificate as mtls.caFile",
            ),
      ];
    }),
  ];
}

function checkValidity(certificate: X509Certificate, setting: string, nowMs: number): CheckResult {
  const name = nameOf(certificate);
  const [fromMs, toMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  if (nowMs < fromMs)
    return fail(
      `${name} is not valid yet, but in ${formatSpan(fromMs - nowMs)}`,
      `set this machine's clock, or renew ${setting}`,
    );
  if (nowMs > toMs)
    return fail(`${name} expired ${formatSpan(nowMs - toMs)} ago: no handshake succeeds`, `renew ${setting}`);
  const detail = `${name}, valid for another ${formatSpan(toMs - nowMs)}`;
  return toMs - nowMs > renewalMs ? ok(detail) : warn(detail, `renew ${setting} before that`);
}

function nameOf({ subject, subjectAltName }: X509Certificate): string {
  return printable((subject?.trim() || subjectAltName || "nameless").split("\n").join(", "));
}
