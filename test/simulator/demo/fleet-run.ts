import { execFileSync } from "node:child_process";
import { onTestFinished } from "vitest";
import { type Program, plainEnvironment, startProgram } from "../../../testkit/run-program.ts";

/** A run of the fleet demo, and every process that it has been seen to start. */
export interface FleetRun extends Program {
  readonly seen: ReadonlyMap<number, string>;
  /** What was left of them when it had ended: process numbers and command lines. */
  left(): string[];
}

const lookEveryMs = 200;

/** As `npm run demo:fleet` does, but for the build, which the tests have made already. */
export function startFleetDemo(args: readonly string[], env: Readonly<Record<string, string>> = {}): FleetRun {
  const demo = startProgram(
    process.execPath,
    ["--import", "tsx", "scripts/demo-fleet/main.ts", ...args],
    plainEnvironment(env),
  );
  const seen = new Map<number, string>();
  const timer = setInterval(() => {
    for (const [pid, command] of descendantsOf(demo.child.pid ?? 0)) {
      // tsx's compiler is no part of the demo; it ends by itself, a moment later.
      if (!command.includes("esbuild")) seen.set(pid, command);
    }
  }, lookEveryMs);
  onTestFinished(async () => {
    clearInterval(timer);
    // Killed outright, it could not end what it has started.
    demo.child.kill("SIGTERM");
    await demo.ended;
  });
  const left = () => [...seen].filter(([pid]) => isAlive(pid)).map(([pid, command]) => `${pid} ${command}`);
  return { ...demo, seen, left };
}

function descendantsOf(pid: number): [pid: number, command: string][] {
  const table = execFileSync("ps", ["-e", "-o", "pid=,ppid=,args="], { encoding: "utf8" });
  const all = table.split("\n").map((line) => /^ *(\d+) +(\d+) (.*)$/.exec(line)?.slice(1) ?? []);
  const childrenOf = (of: string): [number, string][] =>
    all
      .filter(([, parent]) => parent === of)
      .flatMap(([child = "", , command = ""]) => [[Number(child), command], ...childrenOf(child)]);
  return childrenOf(String(pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
