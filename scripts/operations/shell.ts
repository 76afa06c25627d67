import { spawn } from "node:child_process";
import { once } from "node:events";

/** A shell that a page's commands are typed into, one after another, so that what one sets the next one has. */
export interface Shell {
  /**
   * Runs one command and waits for its end; what it left in the background goes on.
   * @returns all that was printed meanwhile
   * @throws Error when it takes too long, or was no command at all
   */
  type(command: string): Promise<string>;
  /** Ends it with all that it has started. */
  close(): Promise<void>;
}

/** No step takes a third of this. */
const patienceMs = 30_000;
/** Printed behind each command; no text has it. */
const recordSeparator = "\u001e\n";

export function openShell(folder: string, env: NodeJS.ProcessEnv): Shell {
  // A group of its own, so that all that is started in it can be ended.
  const child = spawn("sh", [], { cwd: folder, env, detached: true, stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const end = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // No process is left in it.
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
