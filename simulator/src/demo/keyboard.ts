import { createInterface, type Interface } from "node:readline";
import { isatty } from "node:tty";

/**
 * A person at the terminal: Enter for the next scene, `a` for all remaining scenes, `q` or Ctrl-D to end. Ctrl-C sends
 * SIGINT, as usual.
 */
export class Keyboard {
  readonly #lines: Interface;
  /** How often Enter was pressed before the demo waited for it. */
  #ahead = 0;
  #takesAll = false;
  #isClosed = false;
  #onWanted: (() => void) | undefined;
  /** Resolves with the cause of the end: a signal, or the keyboard, also when its terminal is gone. */
  readonly ended: Promise<string>;

  /**
   * @param stopped resolves when a signal has told the process to end
   * @returns undefined if input or output is no terminal: nobody can press a key
   */
  static open(stopped: Promise<string>): Keyboard | undefined {
    return process.stdin.isTTY && process.stdout.isTTY ? new Keyboard(stopped) : undefined;
  }

  private constructor(stopped: Promise<string>) {
    const { stdin } = process;
    // Keys come one by one, and without an output none is echoed.
    this.#lines = createInterface({ input: stdin, terminal: true });
    const closed = new Promise<string>((resolve) => this.#lines.on("close", () => resolve("the keyboard")));
    this.ended = Promise.race([stopped, closed]);
    this.#lines.on("line", () => {
      if (this.#onWanted === undefined) this.#ahead += 1;
      else this.#continue();
    });
    this.#lines.on("SIGINT", () => {
      process.kill(process.pid, "SIGINT");
      this.close();
    });
    this.#lines.on("SIGTSTP", suspend);
    const onError = () => this.close();
    this.#lines.on("error", onError);
    stdin.on("error", onError);
    stdin.on("keypress", (_, { name }: { readonly name?: string }) => {
      if (name === "q") this.close();
      if (name !== "a") return;
      this.#takesAll = true;
      this.#continue();
    });
  }

  /**
   * Waits for Enter, but not once `a` was pressed.
   * @returns false if the demo is to end instead
   */
  async next(prompt: string): Promise<boolean> {
    if (this.#takesAll) return true;
    process.stdout.write(prompt);
    const wanted = new Promise<boolean>((resolve) => (this.#onWanted = () => resolve(true)));
    if (this.#ahead > 0) {
      this.#ahead -= 1;
      this.#continue();
    }
    const goesOn = await Promise.race([this.ended.then(() => false), wanted]);
    if (!this.isGone) process.stdout.write("\n\n");
    return goesOn;
  }

  /** Whether the terminal was closed. A write would fail then. */
  get isGone(): boolean {
    return !isatty(0);
  }

  /** Restores the terminal. */
  close(): void {
    if (this.#isClosed) return;
    // If the terminal is gone, closing emits an error, whose handler calls this method again.
    this.#isClosed = true;
    this.#lines.close();
  }

  #continue(): void {
    this.#onWanted?.();
    this.#onWanted = undefined;
  }
}

/** Ends the process by SIGHUP, as a closed terminal does. Any other end is an abort in Node before 24, which cannot restore the terminal. */
export function endAsHungUp(): void {
  process.removeAllListeners("SIGHUP");
  process.kill(process.pid, "SIGHUP");
}

/** Ctrl-Z stops the whole job, with npm and its shell. */
function suspend(): void {
  process.stdin.setRawMode(false);
  process.once("SIGCONT", () => process.stdin.setRawMode(true));
  process.kill(0, "SIGTSTP");
}
