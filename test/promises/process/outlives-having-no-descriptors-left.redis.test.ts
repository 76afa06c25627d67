/** Connections for which there are no descriptors are lost; the process survives, and serves when descriptors are free again. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { stageBothWays } from "../../../testkit/both-ways.ts";
import { sites } from "../../../testkit/faults-configuration.ts";
import { isInstalled, nameFor, startServe } from "../../../testkit/run-program.ts";

/** Connections for which there are descriptors, and connections that the test opens. */
const room = 5;
const connections = 20;

const hasLimits = isInstalled("prlimit", "--version");

it.runIf(hasLimits)(nameFor(hasLimits, "prlimit", "outlives a time without descriptors"), async () => {
  const { socketPath, file, orderAt } = await stageBothWays();
  const program = await startServe(file);
  const { pid } = program.child;
  const open = () => readdirSync(`/proc/${pid}/fd`).length;
  const most = open() + room;
  execFileSync("prlimit", ["--pid", `${pid}`, `--nofile=${most}:`]);
  const sockets = Array.from({ length: connections }, () => connect(socketPath).on("error", () => {}));
  const closed = sockets.map((socket) => once(socket, "close"));
  await Promise.race(closed);
  for (const socket of sockets) socket.destroy();
  await Promise.all(closed);
  // On a busy machine the process still accepts and closes some of them: an order may find no descriptor for its way to the service.
  await expect.poll(() => orderAt(sites.hmac), { timeout: 20_000 }).toBe(200);
  expect(await program.stop()).toBe(0);
  expect(program.stderr()).toBe("");
});
