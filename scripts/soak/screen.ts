import { paint, print } from "../../src/cli/terminal.ts";

const redrawMs = 200;

/** What the person sees: lines, and on a terminal one more below them that says what is going on. */
export class Screen {
  readonly #isLive = process.stdout.isTTY === true && process.env["TERM"] !== "dumb";
  #status = "";
  #drawnMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  line(text = ""): void {
    if (this.#isClosed) return;
    this.#clear();
    print(text);
    this.#draw();
  }

  /** The line at the bottom, none for an empty text; a pipe gets none at all. */
  status(text: string): void {
    if (!this.#isLive || this.#isClosed) return;
    const nowMs = performance.now();
    if (text !== "" && nowMs < this.#drawnMs + redrawMs) return;
    this.#drawnMs = nowMs;
    this.#clear();
    this.#status = text === "" ? "" : `   ${text}`.slice(0, (process.stdout.columns || 80) - 1);
    this.#draw();
  }

  /** From here on nothing is written: what happens while everything is ended is not shown. */
  close(): void {
    this.status("");
    this.#isClosed = true;
  }

  #clear(): void {
    if (this.#status !== "") process.stdout.write(`\r${" ".repeat(this.#status.length)}\r`);
  }

  #draw(): void {
    if (this.#status !== "") process.stdout.write(paint("dim", this.#status));
  }
}
