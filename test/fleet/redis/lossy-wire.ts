import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { listen } from "../../../testkit/listen.ts";

/** A TCP port in front of another one, and a network between them that may be lost without a word. */
export interface LossyWire {
  readonly port: number;
  /** Connections accepted so far. */
  readonly connections: number;
  /** From now on everything is swallowed, on new connections too; nothing is closed or reset. */
  lose(): void;
  /** New connections pass. Those that the network has lost stay lost: whoever kept their state has forgotten it. */
  restore(): void;
}

/** @param targetUrl where it leads; asked at each connection, since that may start later than the wire */
export async function startLossyWire(targetUrl: () => string): Promise<LossyWire> {
  const sockets = new Set<Socket>();
  const lost = new WeakSet<Socket>();
  let isLost = false;
  let connections = 0;

  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  };
  const passOn = (from: Socket, to: Socket) => {
    from.on("data", (bytes) => {
      if (!lost.has(from)) to.write(bytes);
    });
    from.on("close", () => {
      if (!lost.has(from)) to.destroy();
    });
  };
  const server = createServer((socket) => {
    connections += 1;
    keep(socket);
    if (isLost) {
      lost.add(socket.resume());
      return;
    }
    const { hostname, port } = new URL(targetUrl());
    const target = connect(Number(port), hostname);
    keep(target);
    passOn(socket, target);
    passOn(target, socket);
  });
  const port = await listen(server);
  return {
    port,
    get connections() {
      return connections;
    },
    lose() {
      isLost = true;
      for (const socket of sockets) lost.add(socket);
    },
    restore() {
      isLost = false;
    },
  };
}

const neverAccepts = `require("node:net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, function () {
  console.log(this.address().port);
})`;

/**
 * A port where connections vanish: its owner is stopped and its backlog full, so the kernel drops what asks for more.
 * @returns the port
 */
export async function startVanishingPort(): Promise<number> {
  const owner = spawn(process.execPath, ["-e", neverAccepts], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => endOf(owner));
  const [line] = await once(owner.stdout, "data");
  const port = Number(String(line));
  owner.kill("SIGSTOP");
  const fillers = Array.from({ length: 8 }, () => connect(port, "127.0.0.1").on("error", () => {}));
  onTestFinished(() => {
    for (const filler of fillers) filler.destroy();
  });
  await Promise.race(fillers.map((filler) => once(filler, "connect")));
  if (await answersWithin(port, 300)) throw new Error("this system accepts connections beyond the backlog");
  return port;
}

async function answersWithin(port: number, deadlineMs: number): Promise<boolean> {
  const probe = connect(port, "127.0.0.1");
  const connected = once(probe, "connect", { signal: AbortSignal.timeout(deadlineMs) }).then(
    () => true,
    () => false,
  );
  return connected.finally(() => probe.destroy());
}

async function endOf(child: ChildProcess): Promise<void> {
  const ended = once(child, "close");
  child.kill("SIGKILL");
  await ended;
}
