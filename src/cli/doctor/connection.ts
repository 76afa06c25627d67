import type { Socket } from "node:net";
import { type PeerCertificate, TLSSocket } from "node:tls";
import { type ConnectSettings, createConnect } from "../../adapters/http-client/connect.ts";
import { connectTimeoutCode } from "../../adapters/http-client/transport-error.ts";
import type { Clock } from "../../model/clock.ts";
import { errorCodeOf } from "../../model/defect.ts";
import { type Address, placeOf, withoutBrackets } from "../../model/environment.ts";
import { version } from "../../version.ts";
import { ask } from "../ask.ts";
import { printable } from "../terminal.ts";
import { type CheckResult, type Explanations, explain, fail, formatSpan, ok, type Run, warn } from "./check.ts";

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
    const values = { ...to, ...describeShown(certificate, nowMs), code };
    return explain(connectFailures, code, values) ?? fail(`no connection (${code})`, fix);
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

/** Values for texts about a refused connection; undefined if the server showed no certificate. */
function describeShown(certificate: Certificate | undefined, nowMs: number) {
  return (
    certificate && {
      ago: ` ${formatSpan(nowMs - certificate.validToMs)} ago`,
      butIn: `, but in ${formatSpan(certificate.validFromMs - nowMs)}`,
      butFor: ` but for ${printable(certificate.subject)}`,
      issuer: `: ${printable(certificate.issuer)}`,
    }
  );
}

/** Certificates are usually renewed earlier. So if one has less time left, its renewal does not work. */
const renewalMs = 14 * 86_400_000;

/** How long a certificate is still valid. */
export function evaluateTimeLeft(name: string, leftMs: number, fix: string): CheckResult {
  const detail = `${name}, valid for another ${formatSpan(leftMs)}`;
  return leftMs >= renewalMs ? ok(detail) : warn(detail, fix);
}

/** `$names` are the fields of a `Target`, the code, and the values of `describeShown` if a certificate was shown. */
export const connectFailures: Explanations = {
  PROXY_STATUS_407:
    "the proxy wants other credentials ($code) | put user:password into the file of $egressSetting.auth; HTTP Basic is what is sent",
  "PROXY_STATUS_4..":
    "the proxy lets no connection to $place through ($code) | have CONNECT to $place allowed at the proxy, or name the host in $egressSetting.noProxy",
  "PROXY_STATUS_5..":
    "the proxy does not reach $place ($code) | see the proxy's log: its DNS and its firewall decide; correct the name in $setting",
  PROXY_TIMEOUT:
    "the proxy opened no tunnel within $connectTimeoutMs ms ($code) | see whether the proxy reaches $place, and how busy it is",
  "PROXY_.*":
    "the proxy opens no tunnel ($code) | see that $egressSetting names an HTTP proxy and its right port, and what its log says",
  "ENOTFOUND|EAI_AGAIN":
    "the name $host cannot be resolved ($code) | correct the name in $setting, or see to DNS (NetworkPolicy: egress to port 53)",
  ECONNREFUSED: "connections are refused ($code) | see that it is up, and that host and port in $setting are right",
  ENOENT: "there is no such socket ($code) | see that it is up, and that the path in $setting is right",
  EACCES: "this user may not connect ($code) | let this user write to the socket that $setting names",
  "ETIMEDOUT|EHOSTUNREACH|ENETUNREACH":
    "no connection within $connectTimeoutMs ms ($code) | let this pod reach $place (NetworkPolicy or firewall: egress to that port)",
  TLS_TIMEOUT:
    "it took the connection, and no TLS came within $connectTimeoutMs ms ($code) | see that the port in $setting speaks TLS, and what stands between here and $place (proxy, service mesh)",
  CERT_HAS_EXPIRED:
    "its certificate has expired$ago ($code) | its owner has to renew it; if every certificate seems expired, this machine's clock is wrong",
  CERT_NOT_YET_VALID: "its certificate is not valid yet$butIn ($code) | set this machine's clock (NTP on the node)",
  ".*ALTNAME.*":
    "its certificate is not for $host$butFor ($code) | write the name that it is for in $setting, or have this name added to the certificate",
  ".*(SELF_SIGNED|UNABLE_TO_(VERIFY|GET)|UNTRUSTED|INVALID_CA|UNKNOWN_ISSUER).*":
    "its certificate is by an unknown issuer$issuer ($code) | for a private authority give its certificate as $tlsSetting.caFile; otherwise something intercepts the connection",
  ".*(CERTIFICATE_REQUIRED|ALERT_(HANDSHAKE_FAILURE|BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE_UNKNOWN|CERTIFICATE_EXPIRED)).*":
    "it does not accept our client certificate, or wants one ($code) | give a certificate that it accepts as $tlsSetting.certFile and $tlsSetting.keyFile",
  ".*(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST).*":
    "it does not speak TLS ($code) | give the port of its TLS in $setting",
  ".*(UNSUPPORTED_PROTOCOL|PROTOCOL_VERSION|NO_PROTOCOLS).*":
    "it speaks no TLS from 1.2 on ($code) | its owner has to turn on TLS 1.2 or 1.3",
  "ECONNRESET|EPIPE":
    "the connection is closed as soon as it is made ($code) | see what stands between here and $place (proxy, firewall, service mesh), and that the port is right",
};
