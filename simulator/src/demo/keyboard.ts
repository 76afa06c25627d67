import { createInterface, type Interface } from "node:readline";
import { isatty } from "node:tty";

/**
 * A person at the terminal: Enter for the next scene, `a` for all that are left, `q` or Ctrl-D for the end. Ctrl-C is the
 * signal that it is anywhere.
 */
export class Keyboard {
  readonly #lines: Interface;
  /** Enter was pressed so often before it was waited for. */
  #ahead = 0;
  #takesAll = false;
  #isClosed = false;
  #onWanted: (() => void) | undefined;
  /** Resolves with what ended the demo: a signal, or the person, whose terminal may be gone as well. */
  readonly ended: Promise<string>;

  /**
   * @param stopped a signal has asked the process to end
   * @returns undefined where input or output is no terminal: nobody is there to press a key
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
      else this.#goOn();
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
      this.#goOn();
    });
  }

  /**
   * Waits for Enter, but not once `a` was pressed.
   * @returns false when the demo is to end instead
   */
  async next(prompt: string): Promise<boolean> {
    if (this.#takesAll) return true;
    process.stdout.write(prompt);
    const wanted = new Promise<boolean>((resolve) => (this.#onWanted = () => resolve(true)));
    if (this.#ahead > 0) {
      this.#ahead -= 1;
      this.#goOn();
    }
    const goesOn = await Promise.race([this.ended.then(() => false), wanted]);
    if (!this.isGone) process.stdout.write("\n\n");
    return goesOn;
  }

  /** Whether the terminal was closed. A write would fail then. */
  get isGone(): boolean {
    return !isatty(0);
  }

  /** The terminal is as it was. */
  close(): void {
    if (this.#isClosed) return;
    // Where the terminal is gone, closing fails by an event that leads here.
    this.#isClosed = true;
    this.#lines.close();
  }

  #goOn(): void {
    this.#onWanted?.();
    this.#onWanted = undefined;
  }
}

/** The end of a process whose terminal is gone. Node before 24 ends any other way with an abort, since it cannot restore the terminal. */
export function endAsHungUp(): void {
  process.removeAllListeners("SIGHUP");
  process.kill(process.pid, "SIGHUP");
}

/** Ctrl-Z stops the job as a whole, npm and its shell too. */
function suspend(): void {
  process.stdin.setRawMode(false);
  process.once("SIGCONT", () => process.stdin.setRawMode(true));
  process.kill(0, "SIGTSTP");
}
