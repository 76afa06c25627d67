import type { Socket } from "node:net";
import { type PeerCertificate, TLSSocket } from "node:tls";
import { type ConnectSettings, createConnect } from "../../adapters/http-client/connect.ts";
import { connectTimeoutCode, proxyPrefix } from "../../adapters/http-client/transport-error.ts";
import type { Clock } from "../../model/clock.ts";
import { errorCodeOf } from "../../model/defect.ts";
import { type Address, placeOf, withoutBrackets } from "../../model/environment.ts";
import { version } from "../../version.ts";
import { ask } from "../ask.ts";
import { printable } from "../terminal.ts";
import { type CheckResult, fail, formatSpan, ok, type Run, warn } from "./check.ts";

/** The peer of a connection, and the settings that texts about the connection name. */
export interface Target extends ConnectSettings {
  /** `host:port` */
  readonly place: string;
  /** A name or an address, without the brackets of IPv6. */
  readonly host: string;
  /** The setting that names the host, e.g. `environments.sandbox.baseUrl`. */
  readonly setting: string;
  /** The section with caFile, certFile and keyFile, e.g. `environments.sandbox.tls`. */
  readonly tlsSetting: string;
  /** The section that names the proxy on the way, e.g. `environments.sandbox.egress`. */
  readonly egressSetting: string;
}

/** The configuration may allow longer, but the whole run is limited. */
const longestConnectMs = 5_000;

/**
 * @param path the path of the connection's settings, e.g. `environments.sandbox`
 * @param key the setting below that path that names the host, e.g. `baseUrl`; absent if the path itself names the host
 */
export function targetAt(
  [path, key]: readonly [path: string, key?: string],
  to: Pick<ConnectSettings, "address" | "tls" | "egress">,
  { config }: Run,
): Target {
  return {
    ...to,
    place: placeOf(to.address),
    host: withoutBrackets(to.address.host),
    connectTimeoutMs: Math.min(config.timeouts.connectMs, longestConnectMs),
    setting: key === undefined ? path : `${path}.${key}`,
    tlsSetting: `${path}.tls`,
    egressSetting: `${path}.egress`,
  };
}

/** The content of a certificate; foreign text. */
interface Certificate {
  readonly subject: string;
  readonly issuer: string;
  readonly validFromMs: number;
  readonly validToMs: number;
}

/** The answer to the one request of a probe; its times are by our wall clock. */
export interface DatedAnswer {
  readonly status: number;
  readonly date: string | undefined;
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

/** The result of a connection, and of one request on it. */
export interface Probe {
  /** Monotonic; undefined without a connection. A server that demands a client certificate may still refuse after this time. */
  readonly connectedAtMs?: number;
  /** The code of the last failure. */
  readonly code?: string;
  /** Such as TLSv1.3; undefined without TLS. */
  readonly protocol?: string | undefined;
  readonly certificate?: Certificate | undefined;
  readonly answer?: DatedAnswer;
}

const answerMs = 5_000;

/** Connects as the proxy does, sends the request, if there is one, and closes the connection. */
export async function probe(
  to: Target,
  clock: Clock,
  request?: { readonly method: string; readonly path: string; readonly headers?: object; readonly body?: string },
): Promise<Probe> {
  const { socket, ...connection } = await connectTo(to, clock);
  try {
    if (connection.code !== undefined || request === undefined) return connection;
    const sentAtMs = clock.wallMs();
    const own = { host: new URL(to.address.origin).host, "user-agent": `countersign-doctor/${version}` };
    const headers = { ...own, connection: "close", ...request.headers };
    const options = { method: request.method, path: request.path, headers, createConnection: () => socket };
    const answer = await ask(options, answerMs, clock, request.body);
    if (typeof answer === "string") return { ...connection, code: answer };
    const { status, headers: theirs } = answer;
    return { ...connection, answer: { status, date: theirs.date, sentAtMs, receivedAtMs: clock.wallMs() } };
  } finally {
    socket.destroy();
  }
}

/** The caller has to close the socket. */
function connectTo(to: Target, clock: Clock): Promise<Probe & { readonly socket: Socket }> {
  let certificate: Certificate | undefined;
  let isConnected = false;
  const connect = createConnect(to, clock);
  return new Promise((resolve) => {
    const transport = connect({
      onSocket(socket) {
        socket.once("connect", () => {
          isConnected = true;
        });
        // Node drops a certificate that it refuses, so the certificate is read before Node verifies it.
        if (!(socket instanceof TLSSocket)) return;
        socket.prependListener("secure", () => {
          certificate = readCertificate(socket);
        });
      },
      onReady(socket) {
        resolve({ socket, connectedAtMs: clock.nowMs(), protocol: protocolOf(to.address, socket), certificate });
      },
      onFailed(error) {
        const code = errorCodeOf(error) ?? "UNKNOWN";
        const silence = isConnected ? "TLS_TIMEOUT" : "ETIMEDOUT";
        resolve({ socket: transport.socket, certificate, code: code === connectTimeoutCode ? silence : code });
      },
    });
  });
}

/** Undefined if the service is reached without TLS, even if the proxy on the way uses TLS. */
function protocolOf({ scheme }: Address, socket: Socket): string | undefined {
  const isSecure = scheme === "https" && socket instanceof TLSSocket;
  return isSecure ? (socket.getProtocol() ?? undefined) : undefined;
}

function readCertificate(socket: TLSSocket): Certificate | undefined {
  const { subject, issuer, valid_from, valid_to } = socket.getPeerCertificate();
  if (subject === undefined || issuer === undefined) return undefined;
  // A subject may have several common names (CN), or none.
  const nameIn = ({ CN, O }: PeerCertificate["subject"]) => String(CN ?? O ?? "nameless");
  const [validFromMs, validToMs] = [Date.parse(valid_from), Date.parse(valid_to)];
  return { subject: nameIn(subject), issuer: nameIn(issuer), validFromMs, validToMs };
}

/** Connects and closes the connection, for peers to which the doctor must send no request. */
export async function checkConnection(to: Target, { clock }: Run): Promise<CheckResult> {
  const probed = await probe(to, clock);
  const isPlain = probed.code === undefined && probed.protocol === undefined;
  return isPlain ? ok("takes connections") : evaluateConnection(probed, to, clock.wallMs());
}

export function evaluateConnection(probe: Probe, to: Target, nowMs: number): CheckResult {
  const { connectedAtMs, code, protocol, certificate } = probe;
  // With TLS 1.3 a server refuses a client certificate only after the handshake.
  const isRefused = code !== undefined && (connectedAtMs === undefined || /SSL|TLS/.test(code));
  if (isRefused) {
    const fix = `look up ${code} for Node.js, and see what stands between here and ${to.place}`;
    const known = explainProxyFailure(code, to) ?? explainConnectFailure(code, to, describeShown(certificate, nowMs));
    return known ?? fail(`no connection (${code})`, fix);
  }
  if (protocol === undefined) {
    const detail = "connected, without TLS (allowPlaintext): anything in between can read and change everything";
    return warn(detail, `write https:// in ${to.setting}; plain http is for tests and the simulator`);
  }
  if (certificate === undefined) return ok(`${protocol}, verified`);
  const { subject, issuer, validToMs } = certificate;
  const names = `${protocol}, certificate of ${printable(subject)} by ${printable(issuer)}`;
  const fix = "its owner has to renew it in time; once it has expired, nothing can be sent";
  return evaluateTimeLeft(names, validToMs - nowMs, fix);
}

/** What the server's certificate adds to the texts about a refused connection; nothing if it showed none. */
const nothingShown = { ago: "", butIn: "", butFor: "", issuer: "" };

function describeShown(certificate: Certificate | undefined, nowMs: number): typeof nothingShown {
  if (certificate === undefined) return nothingShown;
  return {
    ago: ` ${formatSpan(nowMs - certificate.validToMs)} ago`,
    butIn: `, but in ${formatSpan(certificate.validFromMs - nowMs)}`,
    butFor: ` but for ${printable(certificate.subject)}`,
    issuer: `: ${printable(certificate.issuer)}`,
  };
}

/** Certificates are usually renewed earlier. So if one has less time left, its renewal does not work. */
const renewalMs = 14 * 86_400_000;

/** How long a certificate is still valid. */
export function evaluateTimeLeft(name: string, leftMs: number, fix: string): CheckResult {
  const detail = `${name}, valid for another ${formatSpan(leftMs)}`;
  return leftMs >= renewalMs ? ok(detail) : warn(detail, fix);
}

/** Why the forward proxy opened no tunnel; undefined if the code is not about the proxy. */
function explainProxyFailure(code: string, to: Target): CheckResult | undefined {
  const { place, setting, egressSetting, connectTimeoutMs } = to;
  if (!code.startsWith(proxyPrefix)) return undefined;
  if (code === "PROXY_STATUS_407") {
    const fix = `put user:password into the file of ${egressSetting}.auth; HTTP Basic is what is sent`;
    return fail(`the proxy wants other credentials (${code})`, fix);
  }
  if (/^PROXY_STATUS_4..$/.test(code)) {
    const fix = `have CONNECT to ${place} allowed at the proxy, or name the host in ${egressSetting}.noProxy`;
    return fail(`the proxy lets no connection to ${place} through (${code})`, fix);
  }
  if (/^PROXY_STATUS_5..$/.test(code)) {
    const fix = `see the proxy's log: its DNS and its firewall decide; correct the name in ${setting}`;
    return fail(`the proxy does not reach ${place} (${code})`, fix);
  }
  if (code === "PROXY_TIMEOUT") {
    const fix = `see whether the proxy reaches ${place}, and how busy it is`;
    return fail(`the proxy opened no tunnel within ${connectTimeoutMs} ms (${code})`, fix);
  }
  const fix = `see that ${egressSetting} names an HTTP proxy and its right port, and what its log says`;
  return fail(`the proxy opens no tunnel (${code})`, fix);
}

/** Why there is no connection; undefined if the code is not known. */
export function explainConnectFailure(
  code: string,
  to: Pick<Target, "place" | "host" | "setting" | "tlsSetting" | "connectTimeoutMs">,
  { ago, butIn, butFor, issuer } = nothingShown,
): CheckResult | undefined {
  const { place, host, setting, tlsSetting, connectTimeoutMs } = to;
  const because = (detail: string, fix: string) => fail(`${detail} (${code})`, fix);
  switch (code) {
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return because(
        `the name ${host} cannot be resolved`,
        `correct the name in ${setting}, or see to DNS (NetworkPolicy: egress to port 53)`,
      );
    case "ECONNREFUSED":
      return because("connections are refused", `see that it is up, and that host and port in ${setting} are right`);
    case "ENOENT":
      return because("there is no such socket", `see that it is up, and that the path in ${setting} is right`);
    case "EACCES":
      return because("this user may not connect", `let this user write to the socket that ${setting} names`);
    case "ETIMEDOUT":
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return because(
        `no connection within ${connectTimeoutMs} ms`,
        `let this pod reach ${place} (NetworkPolicy or firewall: egress to that port)`,
      );
    case "TLS_TIMEOUT":
      return because(
        `it took the connection, and no TLS came within ${connectTimeoutMs} ms`,
        `see that the port in ${setting} speaks TLS, and what stands between here and ${place} (proxy, service mesh)`,
      );
    case "ECONNRESET":
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
    return because(`its certificate is not for ${host}${butFor}`, fix);
  }
  if (/SELF_SIGNED|UNABLE_TO_(VERIFY|GET)|UNTRUSTED|INVALID_CA|UNKNOWN_ISSUER/.test(code)) {
    const fix = `for a private authority give its certificate as ${tlsSetting}.caFile; otherwise something intercepts the connection`;
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
