import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { printable } from "../../model/printable.ts";
import type { Peer } from "../../proxy/messages.ts";

/** A distinguished name has an organisation, its units and a common name; a longer one is cut. */
const longestSubject = 256;
/** IPv4 seen through a socket of IPv6 (RFC 4291 section 2.5.5.2). */
const mappedIPv4 = /^::ffff:(?=\d+\.)/i;

/** Both are asked for once: reading a certificate takes longer than all else that is done for a request's log line. */
const known = new WeakMap<Duplex, Peer>();

/** Who is at the other end of a connection. */
export function peerOf(socket: Duplex): Peer {
  const found = known.get(socket);
  if (found !== undefined) return found;
  const peer = { address: addressOf(socket), subject: socket instanceof TLSSocket ? subjectOf(socket) : undefined };
  known.set(socket, peer);
  return peer;
}

function addressOf(socket: Duplex): string | undefined {
  const address = "remoteAddress" in socket ? socket.remoteAddress : undefined;
  return typeof address === "string" ? address.replace(mappedIPv4, "") : undefined;
}

/** OpenSSL escapes control characters, but writes one line for each part. */
function subjectOf(socket: TLSSocket): string | undefined {
  const subject = socket.getPeerX509Certificate()?.subject;
  return subject === undefined ? undefined : printable(subject.trim().split("\n").join(", "), longestSubject);
}
