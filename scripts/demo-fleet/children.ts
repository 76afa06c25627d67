import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** A process that the demo has started. */
export interface Child {
  readonly pid: number;
  /** Says how it ended, once it has. */
  readonly ended: Promise<string>;
  /** The last that it wrote on standard error. */
  complaints(): string;
  /** Resolves when it has ended. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** How long a process may take to end when it is asked to. */
const patienceMs = 3_000;
const longestComplaint = 2_000;

/** All processes of the demo: none outlives it, however it ends. */
export class Children {
  readonly #living = new Set<ChildProcess>();

  constructor() {
    process.on("exit", () => {
      for (const child of this.#living) child.kill("SIGKILL");
    });
  }

  /**
   * @param onLine receives each line of its standard output
   * @throws Error with the code ENOENT when there is no such program
   */
  async start(command: string, args: readonly string[], onLine: (line: string) => void): Promise<Child> {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
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

  /** Asks all to end, and makes them. */
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
