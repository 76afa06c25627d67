import { paint, print } from "../../src/cli/terminal.ts";

const redrawMs = 200;

/** The output for a person: lines, and on a terminal a status line below them. */
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

  /** The line at the bottom, none for an empty text, and none if the output is a pipe. */
  status(text: string): void {
    if (!this.#isLive || this.#isClosed) return;
    const nowMs = performance.now();
    if (text !== "" && nowMs < this.#drawnMs + redrawMs) return;
    this.#drawnMs = nowMs;
    this.#clear();
    this.#status = text === "" ? "" : `   ${text}`.slice(0, (process.stdout.columns || 80) - 1);
    this.#draw();
  }

  /** From here on nothing is written: events during the shutdown are not shown. */
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
