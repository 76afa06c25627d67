import type { Socket } from "node:net";
import { type PeerCertificate, TLSSocket } from "node:tls";
import { type ConnectSettings, createConnect } from "../../adapters/http-client/connect.ts";
import { type Clock, formatSpan } from "../../model/clock.ts";
import {
  connectTimeoutCode,
  explainConnectFailure,
  type Peer,
  type ShownCertificate,
} from "../../model/connect-failure.ts";
import { errorCodeOf } from "../../model/defect.ts";
import { type Address, placeOf, withoutBrackets } from "../../model/environment.ts";
import { version } from "../../version.ts";
import { ask } from "../ask.ts";
import { printable } from "../terminal.ts";
import { type CheckResult, fail, ok, type Run, warn } from "./check.ts";

/** The peer of a connection, and the settings that texts about the connection name. */
export type Target = ConnectSettings &
  Peer & {
    /** A name or an address, without the brackets of IPv6. */
    readonly host: string;
  };

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
    const known = explainConnectFailure(code, to, describeShown(certificate, nowMs));
    return fail(known?.detail ?? `no connection (${code})`, known?.fix ?? fix);
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

/** @returns nothing if it showed none */
function describeShown(certificate: Certificate | undefined, nowMs: number): ShownCertificate | undefined {
  if (certificate === undefined) return undefined;
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
