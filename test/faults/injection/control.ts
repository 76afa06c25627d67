import { existsSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";

/** The point that shall fail, and how: as foreseen (a connection that breaks), or by a programming error. */
export interface Armed {
  readonly id: number;
  readonly how: "foreseen" | "defect";
  /** The foreseen failure is of a file or a port, not of a connection. */
  readonly isPlace: boolean;
}

/** The result of an armed failure. */
export interface Outcome {
  readonly hasFired: boolean;
  /** The exit codes of the process's attempts to end, which are held back. */
  readonly exits: readonly unknown[];
}

/** Orders to the instrumentation of a running process (runtime.mjs). */
export class Control {
  readonly #path: string;

  /** @param path of a Unix socket */
  constructor(path: string) {
    this.#path = path;
  }

  /** The environment variables that arm the next process. */
  prepare(armed: Armed | undefined): Readonly<Record<string, string>> {
    for (const path of [this.#path, this.#lastWordPath]) rmSync(path, { force: true });
    const order = armed === undefined ? {} : { COUNTERSIGN_FAULTS_ARMED: JSON.stringify(armed) };
    return { COUNTERSIGN_FAULTS_SOCKET: this.#path, ...order };
  }

  /** The answer to an order; undefined if the process has ended meanwhile. */
  async order(order: string, details: object = {}): Promise<unknown> {
    const socket = connect(this.#path);
    let text = "";
    socket.on("error", () => {}).setEncoding("utf8");
    socket.write(`${JSON.stringify({ order, ...details })}\n`);
    await new Promise<void>((resolve) => {
      socket.once("close", resolve).on("data", (chunk) => {
        text += chunk;
        if (text.endsWith("\n")) resolve();
      });
    });
    socket.destroy();
    return text.endsWith("\n") ? JSON.parse(text).answer : undefined;
  }

  /** Arms a failure. @returns the trial's number; undefined if the process has ended */
  async arm(armed: Armed, holds: boolean): Promise<number | undefined> {
    return (await this.order("arm", { ...armed, holds })) as number | undefined;
  }

  /** Ends a trial. */
  async outcome(): Promise<Outcome | undefined> {
    return (await this.order("outcome")) as Outcome | undefined;
  }

  /** The last report of a process that has ended; undefined if it was killed. */
  lastWord(): { readonly hasFired: boolean; readonly reached: readonly number[] } | undefined {
    return existsSync(this.#lastWordPath) ? JSON.parse(readFileSync(this.#lastWordPath, "utf8")) : undefined;
  }

  get #lastWordPath(): string {
    return `${this.#path}.end`;
  }
}
