import { spawn } from "node:child_process";
import { once } from "node:events";
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { ConfigWriter } from "../../testkit/config-writer.ts";
import { freePort } from "../../testkit/free-port.ts";
import { Children } from "../../testkit/processes.ts";
import { pageFolder, pagePorts, type Step, toPage, toRun } from "./page.ts";

/** Every step takes less than a third of this. */
const patienceMs = 30_000;
/** Printed after each command; no other text contains it. */
const recordSeparator = "\u001e\n";

/**
 * Follows the page's steps in order: `countersign demo --folder demo` in a new folder, and a shell beside it. The
 * command is the built one.
 * @param onDone called after each step, with its output in the page's own names for ports and folder
 */
export async function rehearse(steps: readonly Step[], onDone: (step: Step, output: string) => void): Promise<void> {
  const writer = new ConfigWriter("operations");
  const folder = realpathSync(writer.path);
  // What `alias` does for the page's reader.
  const script = `#!/bin/sh\nexec "${process.execPath}" "${resolve("dist/main.js")}" "$@"\n`;
  writer.write("countersign", script, 0o755);
  // No proxy, no colours, no settings of this machine.
  const env = { PATH: `${folder}:${process.env["PATH"] ?? ""}`, HOME: folder, LC_ALL: "C" };
  try {
    const demo = await startDemo(folder, env);
    const shell = openShell(folder, env);
    try {
      const names = new Map([[pageFolder, folder], ...demo.ports, ...(await chooseOwnPorts())]);
      for (const step of steps) onDone(step, toPage(await shell.type(toRun(step.command, names)), names));
    } finally {
      await shell.close();
      await demo.stop();
    }
  } finally {
    writer.remove();
  }
}

/** The demo's lines with addresses, by their first words, and the page's port in each. */
const places = {
  "you call": pagePorts.listener,
  metrics: pagePorts.admin,
  "status page": pagePorts.status,
  "it calls": pagePorts.api,
  "tokens from": pagePorts.login,
} as const;

/**
 * The demo that the page's reader has started.
 * @returns the page's ports, each with the port that the demo uses
 * @throws Error if the demo ends before it is ready
 */
async function startDemo(cwd: string, env: NodeJS.ProcessEnv) {
  let text = "";
  let onInvited = () => {};
  const invited = new Promise<void>((resolve) => {
    onInvited = resolve;
  });
  const onLine = (line: string) => {
    text += `${line}\n`;
    if (line.includes("Ctrl-C ends it")) onInvited();
  };
  const child = await new Children().start("countersign", ["demo", "--folder", "demo"], onLine, { cwd, env });
  const stop = async () => {
    process.kill(child.pid, "SIGTERM");
    await child.ended;
  };
  const end = await Promise.race([invited, child.ended]);
  const ports = Object.entries(places).flatMap(([label, ofPage]): [string, string][] => {
    const [, ofRun] = new RegExp(`^ {3}${label} +http://127\\.0\\.0\\.1:(\\d+)`, "m").exec(text) ?? [];
    return ofRun === undefined ? [] : [[ofPage, ofRun]];
  });
  if (ports.length === Object.keys(places).length) return { ports, stop };
  if (end === undefined) await stop();
  throw new Error(`the demo did not say where it is:\n${text}${child.complaints()}`);
}

/** Ports for the programs that the page's reader starts beside the demo. */
function chooseOwnPorts(): Promise<[string, string][]> {
  const { redis, secondListener, secondAdmin, secondStatus } = pagePorts;
  const ofPage = [redis, secondListener, secondAdmin, secondStatus];
  return Promise.all(ofPage.map(async (port) => [port, String(await freePort())] as [string, string]));
}

/** A shell that runs a page's commands one after another, so that variables stay set. */
interface Shell {
  /**
   * Runs one command and waits for its end; its background processes continue.
   * @returns everything printed meanwhile
   * @throws Error if it takes too long, or the shell ends
   */
  type(command: string): Promise<string>;
  /** Ends the shell with all processes that it has started. */
  close(): Promise<void>;
}

function openShell(folder: string, env: NodeJS.ProcessEnv): Shell {
  // A separate process group, so that all its processes can be ended.
  const child = spawn("sh", [], { cwd: folder, env, detached: true, stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const end = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // No process is left in the group.
    }
  };
  process.on("exit", end);
  let printed = "";
  let onPrinted = () => {};
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
    onPrinted();
  });
  child.stdin.on("error", () => {});
  child.stdin.write("exec 2>&1\n");
  return {
    async type(command) {
      printed = "";
      // A program that reads standard input would read the next command.
      child.stdin.write(`{ ${command}\n} </dev/null\nprintf '\\036\\n'\n`);
      await new Promise<void>((resolve, reject) => {
        const giveUp = (why: string) => reject(new Error(`${why}: ${command}\nIt printed:\n${printed}`));
        const timer = setTimeout(() => giveUp(`not done after ${patienceMs / 1_000} s`), patienceMs);
        void ended.then(() => giveUp("the shell ended"));
        onPrinted = () => {
          if (!printed.endsWith(recordSeparator)) return;
          clearTimeout(timer);
          resolve();
        };
      });
      return printed.slice(0, -recordSeparator.length);
    },
    async close() {
      process.off("exit", end);
      end();
      await ended;
    },
  };
}
