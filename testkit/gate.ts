import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A TCP port in front of another one: it accepts at once, and says and passes on nothing until it is opened. */
export interface Gate {
  readonly port: number;
  /** Resolves when that many connections have been accepted. */
  whenConnections(count: number): Promise<void>;
  /** Passes everything on, also what has come so far. */
  open(): void;
}

/** @param targetUrl whose host and port are behind the gate */
export async function startGate(targetUrl: string): Promise<Gate> {
  const { hostname, port: targetPort } = new URL(targetUrl);
  const waiting = new Set<Socket>();
  const all = new Set<Socket>();
  let isOpen = false;
  let connections = 0;

  const passOn = (socket: Socket) => {
    const target = connect(Number(targetPort), hostname);
    all.add(target);
    target.on("error", () => socket.destroy()).on("close", () => socket.destroy());
    socket.on("close", () => target.destroy());
    socket.pipe(target).pipe(socket);
  };
  const server = createServer((socket) => {
    connections += 1;
    all.add(socket);
    socket.on("error", () => {});
    if (isOpen) passOn(socket);
    else waiting.add(socket.pause());
    server.emit("counted");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of all) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    async whenConnections(count) {
      while (connections < count) await once(server, "counted");
    },
    open() {
      isOpen = true;
      for (const socket of waiting) passOn(socket);
      waiting.clear();
    },
  };
}
