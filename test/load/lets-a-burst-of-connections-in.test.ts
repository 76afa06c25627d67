/** Connections that come at one moment wait in the kernel until the process reads them; none waits for a second try. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { startServed } from "./served.ts";

const burst = 1_500;
const allowed = process.platform === "linux" ? Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8")) : 0;

it.skipIf(allowed < burst)("lets 1,500 connections in while the process does nothing", async () => {
  const { child, port } = await startServed({ more: `limits: { connections: ${burst} }` });
  child.kill("SIGSTOP");
  const sockets = Array.from({ length: burst }, () => connect(port, "127.0.0.1"));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const connected = await Promise.all(sockets.map((socket) => once(socket, "connect")));
  expect(connected).toHaveLength(burst);
});
