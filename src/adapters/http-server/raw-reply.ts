import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "../../model/clock.ts";
import type { ClientConnection, ClientResponse, HeaderLine } from "../../proxy/messages.ts";
import { peerOf } from "./peer.ts";

/** How long the other side may take to read our answer and close, before we do. */
const lingerMs = 1_000;

/**
 * A caller without a parsed request: its head was malformed, too long or too slow, or it asked for a tunnel. It is
 * answered on the bare socket, which then closes, in a while even if the other side keeps it open. What still comes is
 * read and dropped until then: closing a socket with unread data resets it, and the reset can overtake the answer.
 */
export function callerOnSocket(socket: Duplex, headers: readonly HeaderLine[], clock: Clock): ClientConnection {
  let repliedStatus: number | undefined;
  return {
    headers,
    peer: peerOf(socket),
    isClosed: () => socket.destroyed && repliedStatus === undefined,
    repliedStatus: () => repliedStatus,
    async reply(reply) {
      if (!socket.writable) return;
      repliedStatus = reply.status;
      socket.write(format(reply));
      endConnection(socket, clock);
    },
  };
}

/** Ends our direction; the connection goes when the other side ends its own, or in a while. */
export function endConnection(socket: Duplex, clock: Clock): void {
  socket.end();
  socket.resume();
  socket.once(
    "close",
    clock.after(lingerMs, () => socket.destroy()),
  );
}

function format({ status, headers, body }: ClientResponse): Buffer {
  const lines = [...headers, ["Connection", "close"] as const].map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n`;
  const bytes = body instanceof Uint8Array ? body : Buffer.alloc(0);
  return Buffer.concat([Buffer.from(head, "latin1"), bytes]);
}
