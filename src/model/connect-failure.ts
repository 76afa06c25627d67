/** Why a connection was not made, and what to do: the same words on the status page, in the log and in the commands. */

/** The other side closed the connection. */
export const closedCode = "CONNECTION_CLOSED";
export const connectTimeoutCode = "CONNECT_TIMEOUT";
/** The name of the host was still being looked up when the time was over. */
export const dnsTimeoutCode = "DNS_TIMEOUT";
/** The start of each code for a failure before a proxy's tunnel was open. */
export const proxyPrefix = "PROXY_";

/** A server to which there is no connection, and the settings that texts about it name. */
export interface Peer {
  /** Such as `host:port`, an origin, or a path. */
  readonly place: string;
  /** The setting that names the host, e.g. `environments.sandbox.baseUrl`. */
  readonly setting: string;
  /** The section with caFile, certFile and keyFile, e.g. `environments.sandbox.tls`. */
  readonly tlsSetting: string;
  /** The section that names the proxy on the way, e.g. `environments.sandbox.egress`. */
  readonly egressSetting?: string | undefined;
  readonly connectTimeoutMs?: number | undefined;
}

/** Both are clauses. */
interface Explained {
  readonly detail: string;
  readonly fix: string;
}

/** What the server's certificate adds to the texts about a refused connection; foreign text, made printable. */
export interface ShownCertificate {
  readonly ago: string;
  readonly butIn: string;
  readonly butFor: string;
  readonly issuer: string;
}

const nothingShown: ShownCertificate = { ago: "", butIn: "", butFor: "", issuer: "" };

/**
 * Why there is no connection; undefined if the code is not known.
 * @param code of Node's error, or one of those above
 * @param shownCode the code that the texts show
 */
export function explainConnectFailure(
  code: string,
  to: Peer,
  { ago, butIn, butFor, issuer } = nothingShown,
  shownCode = code,
): Explained | undefined {
  const { place, setting, tlsSetting, connectTimeoutMs } = to;
  const within = connectTimeoutMs === undefined ? "in time" : `within ${connectTimeoutMs} ms`;
  if (code.startsWith(proxyPrefix)) return explainProxyFailure(code, to, within);
  const because = (detail: string, fix: string) => ({ detail: `${detail} (${shownCode})`, fix });
  switch (code) {
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case dnsTimeoutCode:
      return because(
        "its name cannot be resolved",
        `correct the name in ${setting}, or see to DNS (NetworkPolicy: egress to port 53)`,
      );
    case "ECONNREFUSED":
      return because("connections are refused", `see that it is up, and that host and port in ${setting} are right`);
    case "ENOENT":
      return because("there is no such socket", `see that it is up, and that the path in ${setting} is right`);
    case "EACCES":
      return because("this user may not connect", `let this user write to the socket that ${setting} names`);
    case "ETIMEDOUT":
    case connectTimeoutCode:
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return because(
        `no connection ${within}`,
        `let this pod reach ${place} (NetworkPolicy or firewall: egress to that port)`,
      );
    case "TLS_TIMEOUT":
      return because(
        `it took the connection, and no TLS came ${within}`,
        `see that the port in ${setting} speaks TLS, and what stands between here and ${place} (proxy, service mesh)`,
      );
    case "ECONNRESET":
    case closedCode:
    case "EPIPE":
      return because(
        "the connection is closed as soon as it is made",
        `see what stands between here and ${place} (proxy, firewall, service mesh), and that the port is right`,
      );
    case "CERT_HAS_EXPIRED":
      return because(
        `its certificate has expired${ago}`,
        "its owner has to renew it; if every certificate seems expired, this machine's clock is wrong",
      );
    case "CERT_NOT_YET_VALID":
      return because(`its certificate is not valid yet${butIn}`, "set this machine's clock (NTP on the node)");
  }
  if (code.includes("ALTNAME")) {
    const fix = `write the name that it is for in ${setting}, or have this name added to the certificate`;
    return because(`its certificate is not for this name${butFor}`, fix);
  }
  if (/SELF_SIGNED|UNABLE_TO_(VERIFY|GET)|UNTRUSTED|INVALID_CA|UNKNOWN_ISSUER/.test(code)) {
    const fix = `see that ${tlsSetting}.caFile holds its authority, if that is a private one; otherwise something intercepts the connection`;
    return because(`its certificate is by an unknown issuer${issuer}`, fix);
  }
  if (
    /CERTIFICATE_REQUIRED|ALERT_(HANDSHAKE_FAILURE|BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE_UNKNOWN|CERTIFICATE_EXPIRED)/.test(
      code,
    )
  ) {
    const fix = `give a certificate that it accepts as ${tlsSetting}.certFile and ${tlsSetting}.keyFile`;
    return because("it does not accept our client certificate, or wants one", fix);
  }
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST/.test(code)) {
    return because("it does not speak TLS", `give the port of its TLS in ${setting}`);
  }
  if (/UNSUPPORTED_PROTOCOL|PROTOCOL_VERSION|NO_PROTOCOLS/.test(code)) {
    return because("it speaks no TLS from 1.2 on", "its owner has to turn on TLS 1.2 or 1.3");
  }
  return undefined;
}

/** The service of an environment, for operators. @param place its origin */
export function serviceOf(environment: string, place: string): Peer {
  const path = `environments.${environment}`;
  return { place, setting: `${path}.baseUrl`, tlsSetting: `${path}.tls`, egressSetting: `${path}.egress` };
}

/**
 * The application of a listener for callbacks, for operators.
 * @param place its origin
 * @param section of the configuration, if the listener is known
 */
export function applicationOf(place: string, section = "application"): Peer {
  return { place, setting: `${section}.url`, tlsSetting: `${section}.tls` };
}

/** `https://api.example: connections are refused (ECONNREFUSED); see …` */
export function describeUnreachable(code: string, to: Peer): string {
  const found = explainConnectFailure(code, to);
  return `${to.place}: ${found === undefined ? `no connection (${code})` : `${found.detail}; ${found.fix}`}`;
}

/** Whether this code also ends a connection that was in use: the server may have been reached. */
export function endsAnyUse(code: string): boolean {
  return code === "ECONNRESET" || code === "EPIPE" || code === closedCode;
}

/** Why the forward proxy opened no tunnel. */
function explainProxyFailure(code: string, { place, setting, egressSetting }: Peer, within: string): Explained {
  if (code === "PROXY_STATUS_407") {
    const fix = `put user:password into the file of ${egressSetting}.auth; HTTP Basic is what is sent`;
    return { detail: `the proxy wants other credentials (${code})`, fix };
  }
  if (/^PROXY_STATUS_4..$/.test(code)) {
    const fix = `have CONNECT to ${place} allowed at the proxy, or name the host in ${egressSetting}.noProxy`;
    return { detail: `the proxy lets no connection to ${place} through (${code})`, fix };
  }
  if (/^PROXY_STATUS_5..$/.test(code)) {
    const fix = `see the proxy's log: its DNS and its firewall decide; correct the name in ${setting}`;
    return { detail: `the proxy does not reach ${place} (${code})`, fix };
  }
  if (code === "PROXY_TIMEOUT") {
    const fix = `see whether the proxy reaches ${place}, and how busy it is`;
    return { detail: `the proxy opened no tunnel ${within} (${code})`, fix };
  }
  const proxy = { place: "the proxy", setting: `${egressSetting}`, tlsSetting: `${egressSetting}.tls` };
  const itsCode = code.slice(proxyPrefix.length);
  const unreached = endsAnyUse(itsCode) ? undefined : explainConnectFailure(itsCode, proxy, nothingShown, code);
  if (unreached !== undefined) return { ...unreached, detail: `the proxy: ${unreached.detail}` };
  const fix = `see that ${egressSetting} names an HTTP proxy and its right port, and what its log says`;
  return { detail: `the proxy opens no tunnel (${code})`, fix };
}
