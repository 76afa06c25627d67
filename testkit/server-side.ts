import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { expect, onTestFinished } from "vitest";
import { call } from "./call.ts";
import { RawConnection, rawPost } from "./raw-caller.ts";
import type { Stage } from "./stage.ts";

/** The server's end of the next connection on this port. */
export function serverSideOf(port: number): Promise<Socket> {
  return new Promise((resolve) => {
    const look = (message: unknown) => {
      const { socket } = message as { socket: Socket };
      if (socket.localPort === port) resolve(socket);
    };
    subscribe("net.server.socket", look);
    onTestFinished(() => void unsubscribe("net.server.socket", look));
  });
}

/** Completes one exchange: by its end the proxy has read everything that was written to it earlier. */
export async function letItRead({ url }: { readonly url: string }): Promise<void> {
  expect((await call(url, "", { method: "GET" })).status).toBe(405);
}

/** A connection whose first order waits at the service until it is released. */
export async function openBehindHeld({ simulator, port }: Pick<Stage, "simulator" | "port">, given = rawPost()) {
  const hanging = simulator.faults.add({ host: "api", kind: "hang" });
  const connection = await RawConnection.open(port);
  connection.write(given);
  await hanging.whenPlayed(1);
  return { connection, release: hanging.release };
}
