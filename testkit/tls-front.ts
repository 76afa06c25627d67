import { connect, type Socket } from "node:net";
import { createServer } from "node:tls";
import { onTestFinished } from "vitest";
import { authority, serverTls } from "./certificates.ts";
import { listen } from "./listen.ts";

/** TLS in front of a server on this machine, that asks for client certificates. Ends with the test. */
export interface TlsFront {
  readonly port: number;
  /** The server name (SNI) of each connection, in order; `none` if it had none. */
  readonly names: readonly string[];
}

export async function startTlsFront(targetPort: number): Promise<TlsFront> {
  const names: string[] = [];
  const targets = new Set<Socket>();
  const server = createServer(
    { ...serverTls, ca: authority, requestCert: true, rejectUnauthorized: false },
    (socket) => {
      names.push(socket.servername || "none");
      const target = connect(targetPort, "127.0.0.1");
      targets.add(target);
      socket.on("error", () => target.destroy()).pipe(target);
      target.on("error", () => socket.destroy()).pipe(socket);
    },
  );
  onTestFinished(() => {
    for (const target of targets) target.destroy();
  });
  return { port: await listen(server), names };
}
