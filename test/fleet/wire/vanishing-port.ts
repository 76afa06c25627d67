import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { onTestFinished } from "vitest";

const neverAccepts = `require("node:net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, function () {
  console.log(this.address().port);
})`;

/**
 * A port where connections vanish: its owner is stopped and its backlog is full, so the kernel drops further SYNs.
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
