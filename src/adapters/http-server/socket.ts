import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import type { HeaderLines } from "../../http/headers.ts";
import { type Clock, sleep } from "../../model/clock.ts";
import { printable } from "../../model/defect.ts";
import type { ClientConnection, ClientResponse, Peer } from "../../proxy/messages.ts";
import { transportOf } from "./tls.ts";

/**
 * What was written before a reset gets this long to arrive and be read. A reset discards what is still on its way, the
 * status line too; and a Node program takes a reset that comes together with bytes for an orderly end (libuv).
 */
const flushMs = 50;
/** How long the other side may take to read our response and close, before we do. */
const lingerMs = 1_000;
/** A distinguished name has an organisation, its units and a common name; a longer one is cut. */
const longestSubject = 256;
/** IPv4 seen through a socket of IPv6 (RFC 4291 section 2.5.5.2). */
const mappedIPv4 = /^::ffff:(?=\d+\.)/i;

const resetByUs = new WeakSet<Socket>();
/** Read once for each connection: reading a certificate takes longer than all else that is done for a log line. */
const peers = new WeakMap<Duplex, Peer>();

/**
 * Ends a connection in the middle of a response by a reset, so that its client cannot take the part for the whole. A plain
 * close would be the proper end of a body without a length. Resolves when the connection is gone.
 */
export async function resetConnection(socket: Socket, clock: Clock): Promise<void> {
  if (socket.destroyed) return;
  resetByUs.add(socket);
  await sleep(clock, flushMs);
  if (socket.destroyed) return;
  const transport = transportOf(socket);
  if (transport !== undefined && canBeReset(socket)) transport.resetAndDestroy();
  socket.destroy();
}

/** Whether we ended it, and not the client. */
export function wasReset(socket: Socket): boolean {
  return resetByUs.has(socket);
}

/** Unix sockets know no reset. */
export function canBeReset(socket: Socket): boolean {
  return socket.remoteAddress !== undefined;
}

/** Ends our direction; the connection goes when the other side ends its own, or after a while. */
export function endConnection(socket: Duplex, clock: Clock): void {
  socket.end();
  socket.resume();
  socket.once(
    "close",
    clock.after(lingerMs, () => socket.destroy()),
  );
}

export function peerOf(socket: Duplex): Peer {
  const known = peers.get(socket);
  if (known !== undefined) return known;
  const address = "remoteAddress" in socket ? socket.remoteAddress : undefined;
  const peer = {
    address: typeof address === "string" ? address.replace(mappedIPv4, "") : undefined,
    subject: socket instanceof TLSSocket ? subjectOf(socket) : undefined,
  };
  peers.set(socket, peer);
  return peer;
}

/** OpenSSL escapes control characters, but writes one line for each part. */
function subjectOf(socket: TLSSocket): string | undefined {
  const subject = socket.getPeerX509Certificate()?.subject;
  return subject === undefined ? undefined : printable(subject.trim().split("\n").join(", "), longestSubject);
}

/**
 * A client without a parsed request: its head was malformed, too long or too slow, or it asked for a tunnel. It is
 * answered on the bare socket, which then closes, after a while even if the other side keeps it open. What still comes is
 * read and dropped until then: closing a socket with unread data resets it, and the reset can overtake the response.
 */
export function clientOnSocket(socket: Duplex, headers: HeaderLines, clock: Clock): ClientConnection {
  let repliedStatus: number | undefined;
  return {
    headers,
    peer: peerOf(socket),
    isClosed: () => socket.destroyed && repliedStatus === undefined,
    repliedStatus: () => repliedStatus,
    reply(response) {
      if (!socket.writable) return undefined;
      repliedStatus = response.status;
      socket.write(format(response));
      endConnection(socket, clock);
      return undefined;
    },
  };
}

function format({ status, headers, body }: ClientResponse): Buffer {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n`;
  for (let index = 0; index < headers.length; index += 2) head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  const text = Buffer.from(`${head}Connection: close\r\n\r\n`, "latin1");
  return body instanceof Uint8Array ? Buffer.concat([text, body]) : text;
}
