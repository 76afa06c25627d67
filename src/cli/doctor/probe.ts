import { request } from "node:http";
import { isIP, connect as openTcp, type Socket } from "node:net";
import { connect as openTls, type TLSSocket } from "node:tls";
import type { Clock } from "../../model/clock.ts";
import { version } from "../../version.ts";
import { codeOf } from "./check.ts";
import type { Host } from "./host.ts";

/** What a certificate says of itself; foreign text. */
export interface Certificate {
  readonly subject: string;
  readonly issuer: string;
  readonly validFromMs: number;
  readonly validToMs: number;
}

/** An answer to HEAD, by our wall clock. */
export interface Answer {
  readonly status: number;
  readonly date: string | undefined;
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

/** What came of connecting, as far as it went. */
export interface Contact {
  /** Whether a connection was made, TLS verified; a server that wants a client certificate may object later. */
  readonly isConnected: boolean;
  /** When that was (monotonic). */
  readonly connectedAtMs: number | undefined;
  /** What went wrong last. */
  readonly code: string | undefined;
  /** Such as TLSv1.3; undefined without TLS. */
  readonly protocol: string | undefined;
  readonly certificate: Certificate | undefined;
  readonly answer: Answer | undefined;
}

export interface Limits {
  readonly connectMs: number;
  readonly answerMs: number;
}

/**
 * Connects as the proxy does, verifying as strictly, and asks `HEAD /` on that one connection: no credentials, no body,
 * outside the base path, so nothing that a service could take for an order.
 */
export async function probe(host: Host, limits: Limits, clock: Clock): Promise<Contact> {
  const isTls = host.address.scheme === "https";
  let certificate: Certificate | undefined;
  const socket = isTls ? connectTls(host, (shown) => (certificate = shown)) : connectTcp(host);
  const nothing = { connectedAtMs: undefined, protocol: undefined, answer: undefined };
  try {
    const failure = await settle(socket, isTls ? "secureConnect" : "connect", limits.connectMs, clock);
    if (failure !== undefined) {
      // The handshake is what did not come: the network is not to blame.
      const code = failure === "ETIMEDOUT" && !socket.connecting ? "TLS_TIMEOUT" : failure;
      return { ...nothing, isConnected: false, code, certificate };
    }
    const connectedAtMs = clock.nowMs();
    const protocol = "getProtocol" in socket ? (socket.getProtocol() ?? undefined) : undefined;
    const answer = await askHead(host, socket, limits.answerMs, clock);
    const connected = { isConnected: true, connectedAtMs, protocol, certificate };
    return typeof answer === "string"
      ? { ...connected, code: answer, answer: undefined }
      : { ...connected, code: undefined, answer };
  } finally {
    socket.on("error", () => {}).destroy();
  }
}

function connectTcp({ name, address }: Host): Socket {
  return openTcp({ host: name, port: address.port });
}

function connectTls({ name, address, environment: { tls } }: Host, show: (shown: Certificate) => void): TLSSocket {
  const socket = openTls({
    host: name,
    port: address.port,
    ...(isIP(name) === 0 ? { servername: name } : {}),
    minVersion: "TLSv1.2",
    rejectUnauthorized: true,
    ALPNProtocols: ["http/1.1"],
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key.reveal() }),
  });
  // Before Node judges it: afterwards, what was refused is gone, and nobody could say what was wrong with it.
  socket.prependListener("secure", () => {
    const shown = readCertificate(socket);
    if (shown !== undefined) show(shown);
  });
  return socket;
}

function readCertificate(socket: TLSSocket): Certificate | undefined {
  const { subject, issuer, valid_from, valid_to } = socket.getPeerCertificate();
  if (subject === undefined || issuer === undefined) return undefined;
  return {
    subject: nameIn(subject.CN ?? subject.O),
    issuer: nameIn(issuer.CN ?? issuer.O),
    validFromMs: Date.parse(valid_from),
    validToMs: Date.parse(valid_to),
  };
}

/** A certificate may hold a name several times, or not at all. */
function nameIn(name: string | string[] | undefined): string {
  return String(name ?? "nameless");
}

/** Undefined when the event came in time; else a code. */
function settle(socket: Socket, event: string, limitMs: number, clock: Clock): Promise<string | undefined> {
  return new Promise((resolve) => {
    const cancel = clock.after(limitMs, () => resolve("ETIMEDOUT"));
    socket.once(event, () => resolve(undefined));
    socket.once("error", (error) => resolve(codeOf(error)));
    socket.once("close", () => {
      cancel();
      resolve("ECONNRESET");
    });
  });
}

function askHead({ address }: Host, socket: Socket, limitMs: number, clock: Clock): Promise<Answer | string> {
  const { host } = new URL(address.origin);
  const headers = { host, "user-agent": `countersign-doctor/${version}`, connection: "close" };
  const sentAtMs = clock.wallMs();
  return new Promise((resolve) => {
    const cancel = clock.after(limitMs, () => resolve("ETIMEDOUT"));
    const asking = request({ method: "HEAD", path: "/", headers, createConnection: () => socket });
    asking.on("response", (response) => {
      response.resume();
      const { statusCode: status = 0, headers } = response;
      resolve({ status, date: headers.date, sentAtMs, receivedAtMs: clock.wallMs() });
    });
    asking.on("error", (error) => resolve(codeOf(error)));
    asking.on("close", () => {
      cancel();
      resolve("ECONNRESET");
    });
    asking.end();
  });
}
