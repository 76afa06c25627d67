import { type ChildProcess, type SpawnSyncOptions, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { searchStream } from "./leaks/outflow.ts";
import { isCertain } from "./left-out.ts";

/** A started program, and its output so far. */
export interface Program {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** The first line on standard output that satisfies the condition, already written or still to come. */
  line(isMeant: (line: string) => boolean): Promise<string>;
  /** The log's lines of this event so far. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any log line
  events(kind: string): any[];
  /** The n-th line of this event, already written or still to come. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  nth(kind: string, n: number): Promise<any>;
  /** The exit code, once the program has ended; the signal's name if a signal ended it. */
  readonly ended: Promise<number | string>;
  /** Sends a signal, SIGTERM by default. @returns `ended` */
  stop(signal?: NodeJS.Signals): Promise<number | string>;
}

/** The environment without proxy settings and colours, so that this machine's settings have no influence. */
export function plainEnvironment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(.*_proxy|no_color|force_color|node_options|ci|term)$/i.test(name),
  );
  return { ...Object.fromEntries(kept), TERM: "xterm", ...more };
}

/**
 * Starts a program; ends it with the test, if it still runs.
 * @param input `pipe`: the test writes the child's standard input
 */
export function startProgram(
  command: string,
  args: readonly string[],
  env = plainEnvironment(),
  input: "ignore" | "pipe" = "ignore",
): Program {
  const child = spawn(command, args, { env, stdio: [input, "pipe", "pipe"] });
  if (child.stdout === null || child.stderr === null) throw new Error("its output is piped");
  let stdout = "";
  let stderr = "";
  const searched = { stdout: searchStream("stdout"), stderr: searchStream("stderr") };
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
    searched.stdout.take(text);
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
    searched.stderr.take(text);
  });
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, "close").then(([code, signal]) => {
    searched.stdout.end();
    searched.stderr.end();
    return code ?? signal;
  });
  const stop = (signal: NodeJS.Signals = "SIGTERM") => {
    child.kill(signal);
    return ended;
  };
  onTestFinished(async () => void (await stop("SIGKILL")));
  const written = () => stdout.split("\n").slice(0, -1);
  const isOf = (kind: string) => (line: string) => line.includes(`"event":"${kind}"`);
  const events: Program["events"] = (kind) =>
    written()
      .filter(isOf(kind))
      .map((line) => JSON.parse(line));
  const line: Program["line"] = (isMeant) => {
    const before = written().find(isMeant);
    if (before !== undefined) return Promise.resolve(before);
    return new Promise((resolve, reject) => {
      lines.on("line", (text) => {
        if (isMeant(text)) resolve(text);
      });
      lines.once("close", () => reject(new Error(`it ended without that line:\n${stdout}${stderr}`)));
    });
  };
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    stop,
    events,
    line,
    async nth(kind, n) {
      await line((text) => isOf(kind)(text) && events(kind).length >= n);
      return events(kind)[n - 1];
    },
  };
}

/** How a program ended, and its whole output. */
export interface Ended {
  readonly exitCode: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. */
export async function runToEnd(...given: Parameters<typeof startProgram>): Promise<Ended> {
  const program = startProgram(...given);
  return { exitCode: await program.ended, stdout: program.stdout(), stderr: program.stderr() };
}

/** Runs a program to its end, and blocks this process meanwhile. */
export function runSync(command: string, args: readonly string[], options: SpawnSyncOptions = {}): Ended {
  const given = { ...options, encoding: "utf8", maxBuffer: 1e8 } as const;
  const { status, signal, stdout, stderr } = spawnSync(command, args, given);
  return { exitCode: status ?? signal ?? "", stdout, stderr };
}

/** Runs the built command to its end. */
export function runCommand(args: readonly string[], env = plainEnvironment()): Promise<Ended> {
  return runToEnd(process.execPath, ["dist/main.js", ...args], env);
}

/** Runs the built command to its end, with this standard input. Its output is not searched for canaries: it may be a signature. */
export function runWithInput(input: string, args: readonly string[], env = plainEnvironment()): Ended {
  return runSync(process.execPath, ["dist/main.js", ...args], { input, env });
}

interface ServeOptions {
  readonly main?: string;
  /** Options of Node itself. */
  readonly options?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Wraps the command in another one that runs it. */
  readonly wrap?: ((command: string, args: readonly string[]) => readonly [string, readonly string[]]) | undefined;
}

/** The command, serving by this configuration, once it listens; with the addresses of its admin and status servers. */
export async function startServe(
  file: string,
  { main = "dist/main.js", options = [], env = plainEnvironment(), wrap = (...command) => command }: ServeOptions = {},
): Promise<Program & { readonly adminUrl: string; readonly statusUrl: string }> {
  const program = startProgram(...wrap(process.execPath, [...options, main, "serve", "--config", file]), env);
  const { adminBind, statusBind } = await program.nth("started", 1);
  return { ...program, adminUrl: `http://${adminBind}`, statusUrl: `http://${statusBind}` };
}

/** Whether a program is installed on this machine and works. CI installs certain programs: if one is missing there, its tests fail. */
export function isInstalled(command: string, ...args: readonly string[]): boolean {
  return isCertain(command) || spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

/** The name of a test that uses a program which a machine may lack. */
export function nameFor(isThere: boolean, program: string, promise: string): string {
  return isThere ? promise : `NOT TRIED, ${program} is not installed: ${promise}`;
}

/** The version that a program prints, as the pattern captures it, on either output; undefined if the program cannot run. */
export function versionOf(pattern: RegExp, command: string, ...args: readonly string[]): string | undefined {
  const { exitCode, stdout, stderr } = runSync(command, args);
  const found = exitCode === 0 ? pattern.exec(stdout + stderr) : null;
  return found?.slice(1).join(" ");
}
