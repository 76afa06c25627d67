import { isInstalled, plainEnvironment, startProgram } from "./run-program.ts";

/** Whether this machine can give a program its own terminal. */
export const hasTerminals = isInstalled("python3", "-c", "import pty");

/**
 * Starts a program on a terminal of 24 rows and 80 columns; the test plays its user. If a signal ends the program, its exit code is 128
 * plus the signal's number.
 */
export function startOnTerminal(command: readonly string[], env: Readonly<Record<string, string>> = { NO_COLOR: "1" }) {
  const driver = ["testkit/terminal.py", "24", "80", ...command];
  const { child, ended, stdout } = startProgram("python3", driver, plainEnvironment(env), "pipe");
  // The keyboard input fails once the program has ended.
  child.stdin?.on("error", () => {});
  /** Everything shown so far, without carriage returns. */
  const shown = () => stdout().replaceAll("\r", "");
  let awaitedTo = 0;
  return {
    child,
    ended,
    shown,
    /** Waits until this text is shown, after the output of the last call. */
    awaitText(text: string): Promise<void> {
      return new Promise((resolve, reject) => {
        const look = () => {
          const at = shown().indexOf(text, awaitedTo);
          if (at === -1) return;
          awaitedTo = at + text.length;
          child.stdout?.off("data", look);
          resolve();
        };
        child.stdout?.on("data", look);
        void ended.then(() => reject(new Error(`it ended without ${JSON.stringify(text)}:\n${shown()}`)));
        look();
      });
    },
    /** Presses keys: `\r` is Enter, `\x03` Ctrl-C, `\x04` Ctrl-D. */
    press: (keys: string) => void child.stdin?.write(keys),
    /** Closes the terminal. */
    hangUp: () => void child.stdin?.end(),
  };
}
