import type { Socket } from "node:net";
import { type Address, type Egress, placeOf } from "../../model/environment.ts";
import type { TunnelResult } from "../../model/events.ts";
import { ResponseReader } from "./response-reader.ts";
import {
  closedCode,
  codeOf,
  connectTimeoutCode,
  MalformedResponse,
  proxyPrefix,
  TransportError,
} from "./transport-error.ts";

/** What became of one tunnel. */
export interface TunnelReport {
  readonly result: TunnelResult;
  /** Why it does not stand: `PROXY_STATUS_407`, `PROXY_ECONNREFUSED`, … */
  readonly cause: string | undefined;
  /** From the attempt to connect to the proxy. */
  readonly durationMs: number;
}

/**
 * Asks for a tunnel on a connection to a proxy. Any 2xx opens it; its length and codings mean nothing (RFC 9110 section
 * 9.3.6). Nothing has come through it then: with HTTP and TLS the client speaks first, so bytes behind the head are the
 * proxy's own.
 * @param onRefused gets a TransportError: `STATUS_407`, or what is malformed
 */
export function requestTunnel(
  socket: Socket,
  address: Address,
  credentials: Egress["credentials"],
  onOpened: () => void,
  onRefused: (error: unknown) => void,
): void {
  const reader = new ResponseReader();
  reader.begin("CONNECT");
  // Not by `data`, which would leave the socket flowing or paused: it is handed on as if it was new.
  const read = () => {
    const bytes: Buffer | null = socket.read();
    if (bytes === null) return;
    try {
      const behindHead = reader.read(bytes, bytes.length);
      if (reader.phase === "head") return;
      socket.off("readable", read);
      if (reader.status >= 300) throw new TransportError(`${statusPrefix}${reader.status}`);
      if (behindHead !== undefined) throw new MalformedResponse("BYTES_BEHIND_HEAD");
    } catch (error) {
      return onRefused(error);
    }
    onOpened();
  };
  socket.on("readable", read).write(formatConnect(address, credentials), "latin1");
}

/** A request for a tunnel to this host, whole. The port is always written (RFC 9112 section 3.2.3). */
function formatConnect(address: Address, credentials: Egress["credentials"]): string {
  const authority = placeOf(address);
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`];
  if (credentials !== undefined) {
    lines.push(`Proxy-Authorization: Basic ${Buffer.from(credentials.reveal(), "utf8").toString("base64")}`);
  }
  return `${lines.join("\r\n")}\r\n\r\n`;
}

const statusPrefix = "STATUS_";

export function tunnelResultOf(error: unknown): TunnelResult {
  const code = codeOf(error);
  if (error instanceof MalformedResponse) return "malformed";
  if (code === connectTimeoutCode) return "timed_out";
  if (code === `${statusPrefix}407`) return "unauthorized";
  return code.startsWith(statusPrefix) ? "refused" : "failed";
}

const shortCodes: Readonly<Record<string, string>> = { [closedCode]: "CLOSED", [connectTimeoutCode]: "TIMEOUT" };

/** The same error as one of the proxy's: `PROXY_ECONNREFUSED`. */
export function asProxyError(error: unknown): TransportError {
  const code = codeOf(error);
  return new TransportError(`${proxyPrefix}${shortCodes[code] ?? code}`);
}
