import { type Finding, fail, formatSpan, printable } from "./check.ts";
import type { Certificate } from "./probe.ts";

/** Where a connection should have led, and which settings decide about it. */
export interface Destination {
  /** `host:port` */
  readonly place: string;
  readonly host: string;
  /** Names the host, e.g. `environments.sandbox.baseUrl`. */
  readonly setting: string;
  /** Holds caFile, certFile and keyFile, e.g. `environments.sandbox.tls`. */
  readonly tlsSetting: string;
  readonly connectMs: number;
}

/** Whether there are better words for it than the code itself. */
export function isExplained(code: string): boolean {
  return reasons.some(({ codes }) => codes.test(code));
}

/** Why there is no connection, in words, by the code of the error and the certificate that was shown. */
export function explainFailure(code: string, to: Destination, shown: Certificate | undefined, nowMs: number): Finding {
  const known = reasons.find(({ codes }) => codes.test(code));
  if (known !== undefined) return fail(`${known.detail(to, shown, nowMs)} (${code})`, known.fix(to));
  return fail(
    `no connection (${code})`,
    `look up ${code} for Node.js, and see what stands between here and ${to.place}`,
  );
}

interface Reason {
  readonly codes: RegExp;
  readonly detail: (to: Destination, shown: Certificate | undefined, nowMs: number) => string;
  readonly fix: (to: Destination) => string;
}

const reasons: readonly Reason[] = [
  {
    codes: /^(ENOTFOUND|EAI_AGAIN)$/,
    detail: ({ host }) => `the name ${host} cannot be resolved`,
    fix: ({ setting }) => `correct the name in ${setting}, or see to DNS (NetworkPolicy: egress to port 53)`,
  },
  {
    codes: /^ECONNREFUSED$/,
    detail: () => "connections are refused",
    fix: ({ setting }) => `see that it is up, and that host and port in ${setting} are right`,
  },
  {
    codes: /^ENOENT$/,
    detail: () => "there is no such socket",
    fix: ({ setting }) => `see that it is up, and that the path in ${setting} is right`,
  },
  {
    codes: /^EACCES$/,
    detail: () => "this user may not connect",
    fix: ({ setting }) => `let this user write to the socket that ${setting} names`,
  },
  {
    codes: /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/,
    detail: ({ connectMs }) => `no connection within ${connectMs} ms`,
    fix: ({ place }) => `let this pod reach ${place} (NetworkPolicy or firewall: egress to that port)`,
  },
  {
    codes: /^TLS_TIMEOUT$/,
    detail: ({ connectMs }) => `it took the connection, and no TLS came within ${connectMs} ms`,
    fix: ({ setting, place }) =>
      `see that the port in ${setting} speaks TLS, and what stands between here and ${place} (proxy, service mesh)`,
  },
  {
    codes: /^CERT_HAS_EXPIRED$/,
    detail: (_, shown, nowMs) =>
      `its certificate has expired${shown ? ` ${formatSpan(nowMs - shown.validToMs)} ago` : ""}`,
    fix: () => "its owner has to renew it; if every certificate seems expired, this machine's clock is wrong",
  },
  {
    codes: /^CERT_NOT_YET_VALID$/,
    detail: (_, shown, nowMs) =>
      `its certificate is not valid yet${shown ? `, but in ${formatSpan(shown.validFromMs - nowMs)}` : ""}`,
    fix: () => "set this machine's clock (NTP on the node)",
  },
  {
    codes: /ALTNAME/,
    detail: ({ host }, shown) =>
      `its certificate is not for ${host}${shown ? ` but for ${printable(shown.subject)}` : ""}`,
    fix: ({ setting }) => `write the name that it is for in ${setting}, or have this name added to the certificate`,
  },
  {
    codes: /SELF_SIGNED|UNABLE_TO_(VERIFY|GET)|UNTRUSTED|INVALID_CA|UNKNOWN_ISSUER/,
    detail: (_, shown) => `its certificate is by an unknown issuer${shown ? `: ${printable(shown.issuer)}` : ""}`,
    fix: ({ tlsSetting }) =>
      `for a private authority give its certificate as ${tlsSetting}.caFile; else somebody is in between`,
  },
  {
    codes:
      /CERTIFICATE_REQUIRED|ALERT_(HANDSHAKE_FAILURE|BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE_UNKNOWN|CERTIFICATE_EXPIRED)/,
    detail: () => "it does not accept our client certificate, or wants one",
    fix: ({ tlsSetting }) => `give the one that it knows as ${tlsSetting}.certFile and ${tlsSetting}.keyFile`,
  },
  {
    codes: /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST/,
    detail: () => "it does not speak TLS",
    fix: ({ setting }) => `give the port of its TLS in ${setting}`,
  },
  {
    codes: /UNSUPPORTED_PROTOCOL|PROTOCOL_VERSION|NO_PROTOCOLS/,
    detail: () => "it speaks no TLS from 1.2 on",
    fix: () => "its owner has to turn on TLS 1.2 or 1.3",
  },
  {
    codes: /^(ECONNRESET|EPIPE)$/,
    detail: () => "the connection is closed as soon as it is made",
    fix: ({ place }) =>
      `see what stands between here and ${place} (proxy, firewall, service mesh), and that the port is right`,
  },
];
