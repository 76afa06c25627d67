import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { freePort } from "../../testkit/free-port.ts";
import { startDemo } from "./demo.ts";
import type { Step } from "./page.ts";
import { openShell, type Shell } from "./shell.ts";
import { type Names, pageFolder, pagePorts, toPage, toRun } from "./translate.ts";

/**
 * Follows the page's steps in order: `countersign demo --folder demo` in a folder of its own, and a shell beside it. The
 * command is the built one.
 * @param onDone told of each step, with what it printed in the page's own names for ports and folder
 */
export async function rehearse(steps: readonly Step[], onDone: (step: Step, output: string) => void): Promise<void> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "countersign-operations-")));
  const path = `${folder}:${process.env["PATH"] ?? ""}`;
  // No proxy, no colours, no settings of this machine.
  const env = { PATH: path, HOME: folder, LC_ALL: "C" };
  try {
    await writeCommand(join(folder, "countersign"));
    const demo = await startDemo(folder, env);
    try {
      const names: Names = new Map([[pageFolder, folder], ...demo.ports, ...(await chooseOwnPorts())]);
      await follow(steps, openShell(folder, env), names, onDone);
    } finally {
      await demo.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function follow(
  steps: readonly Step[],
  shell: Shell,
  names: Names,
  onDone: (step: Step, output: string) => void,
): Promise<void> {
  try {
    for (const step of steps) onDone(step, toPage(await shell.type(toRun(step.command, names)), names));
  } finally {
    await shell.close();
  }
}

/** What `alias` does for the page's reader. */
async function writeCommand(file: string): Promise<void> {
  const script = `#!/bin/sh\nexec "${process.execPath}" "${resolve("dist/main.js")}" "$@"\n`;
  await writeFile(file, script, { mode: 0o755 });
}

/** For what the page's reader starts beside the demo. */
async function chooseOwnPorts(): Promise<[string, string][]> {
  const { redis, secondListener, secondAdmin, secondStatus } = pagePorts;
  const ofPage = [redis, secondListener, secondAdmin, secondStatus];
  const chosen = new Set<number>();
  while (chosen.size < ofPage.length) chosen.add(await freePort());
  return [...chosen].map((port, index) => [ofPage[index] ?? "", String(port)]);
}
