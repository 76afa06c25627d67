import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { freePort } from "./free-port.ts";

/** A process that a script has started. */
export interface Child {
  readonly pid: number;
  /** Resolves, when the process has ended, to a text that says how. */
  readonly ended: Promise<string>;
  /** The end of its standard error. */
  complaints(): string;
  /** Sends the signal. Resolves when the process has ended. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** Time that a process has to end after it is asked to. */
const patienceMs = 3_000;
const longestComplaint = 2_000;

/** All processes of a script: none of them outlives the script, however it ends. */
export class Children {
  readonly #living = new Set<ChildProcess>();

  constructor() {
    process.on("exit", () => {
      for (const child of this.#living) child.kill("SIGKILL");
    });
  }

  /**
   * @param onLine receives each line of its standard output
   * @throws Error with the code ENOENT if there is no such program
   */
  async start(
    command: string,
    args: readonly string[],
    onLine: (line: string) => void,
    place: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
  ): Promise<Child> {
    const child = spawn(command, args, { ...place, stdio: ["ignore", "pipe", "pipe"] });
    this.#living.add(child);
    let complaints = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaints = `${complaints}${text}`.slice(-longestComplaint);
    });
    createInterface({ input: child.stdout }).on("line", onLine);
    const ended = once(child, "close").then(
      ([code, signal]) => (signal === null ? `exit code ${code}` : `${signal}`),
      (error: Error) => error.message,
    );
    void ended.then(() => this.#living.delete(child));
    await once(child, "spawn");
    return {
      pid: child.pid ?? 0,
      ended,
      complaints: () => complaints.trim(),
      end: async (signal) => void (await end(child, ended, signal)),
    };
  }

  /** Asks all processes to end, and kills those that do not. */
  async endAll(): Promise<void> {
    const all = [...this.#living].map((child) => end(child, once(child, "close"), "SIGTERM"));
    await Promise.all(all);
  }
}

async function end(child: ChildProcess, ended: Promise<unknown>, signal: NodeJS.Signals): Promise<void> {
  const timer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  child.kill(signal);
  await ended;
  clearTimeout(timer);
}

/** The built command. */
export const command = "dist/main.js";

/** The built command, serving. */
export interface Serving {
  readonly port: number;
  readonly url: string;
  readonly adminUrl: string;
  readonly process: Child;
}

export interface ServeParts {
  readonly children: Children;
  /** Writes the configuration for this port, and returns its file. */
  readonly writeConfig: (port: number) => string;
  /** Receives each line of the log. */
  readonly onLine: (line: string) => void;
  /** Options of Node itself. */
  readonly nodeArgs?: readonly string[];
  /** Environment variables in addition to those of this process. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** @throws Error with the output of the process, if it does not start */
export async function startServing({
  children,
  writeConfig,
  onLine,
  nodeArgs = [],
  variables,
}: ServeParts): Promise<Serving> {
  const port = await freePort();
  let announce = (_: string) => {};
  const started = new Promise<{ readonly line: string }>((resolve) => {
    announce = (line) => resolve({ line });
  });
  const args = [...nodeArgs, command, "serve", "--config", writeConfig(port)];
  const listen = (line: string) => {
    if (line.includes('"event":"started"')) announce(line);
    onLine(line);
  };
  const child = await children.start(process.execPath, args, listen, { env: { ...process.env, ...variables } });
  const first = await Promise.race([started, child.ended]);
  if (typeof first === "string") throw new Error(`it did not start: ${first}. ${child.complaints()}`);
  const { adminBind }: { adminBind: string } = JSON.parse(first.line);
  return { port, url: `http://127.0.0.1:${port}`, adminUrl: `http://${adminBind}`, process: child };
}
