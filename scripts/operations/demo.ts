import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { pagePorts } from "./translate.ts";

/** The demo that the page's reader has started. */
export interface RunningDemo {
  /** The page's ports, each with the one that it has taken. */
  readonly ports: readonly (readonly [ofPage: string, ofRun: string])[];
  stop(): Promise<void>;
}

/** Where the demo says its addresses; the word that the line begins with. */
const places = {
  "you call": pagePorts.listener,
  metrics: pagePorts.admin,
  "status page": pagePorts.status,
  "it calls": pagePorts.api,
  "tokens from": pagePorts.login,
} as const;

/** @throws Error when it ends before it invites */
export async function startDemo(folder: string, env: NodeJS.ProcessEnv): Promise<RunningDemo> {
  const child = spawn("countersign", ["demo", "--folder", "demo"], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line.includes("Ctrl-C ends it")) break;
  }
  child.stdout.resume();
  const text = lines.join("\n");
  const ports = Object.entries(places).flatMap(([label, ofPage]) => {
    const [, ofRun] = new RegExp(`^ {3}${label} +http://127\\.0\\.0\\.1:(\\d+)`, "m").exec(text) ?? [];
    return ofRun === undefined ? [] : [[ofPage, ofRun] as const];
  });
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  if (ports.length === Object.keys(places).length) return { ports, stop };
  await stop();
  throw new Error(`the demo did not say where it is:\n${text}`);
}
