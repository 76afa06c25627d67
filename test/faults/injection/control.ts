import { existsSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";

/** What is to fail, and how: as foreseen (a connection that breaks), or by a programming error. */
export interface Armed {
  readonly id: number;
  readonly how: "foreseen" | "defect";
  /** What is foreseen is that a file or a port cannot be had. */
  readonly isPlace: boolean;
}

/** What came of what was armed. */
export interface Outcome {
  readonly hasFired: boolean;
  /** The codes with which the process would have ended, if that were not held back. */
  readonly exits: readonly unknown[];
}

/** Orders to the instrumentation of a running process (runtime.mjs). */
export class Control {
  readonly #path: string;

  /** @param path of a Unix socket */
  constructor(path: string) {
    this.#path = path;
  }

  /** For the next process. */
  prepare(armed: Armed | undefined): Readonly<Record<string, string>> {
    for (const path of [this.#path, this.#lastWordPath]) rmSync(path, { force: true });
    const order = armed === undefined ? {} : { COUNTERSIGN_FAULTS_ARMED: JSON.stringify(armed) };
    return { COUNTERSIGN_FAULTS_SOCKET: this.#path, ...order };
  }

  /** Its answer; undefined when the process has ended meanwhile. */
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

  /** Ends a trial. */
  async outcome(): Promise<Outcome | undefined> {
    return (await this.order("outcome")) as Outcome | undefined;
  }

  /** What was seen of a process that has ended; undefined when it was killed. */
  lastWord(): { readonly hasFired: boolean; readonly reached: readonly number[] } | undefined {
    return existsSync(this.#lastWordPath) ? JSON.parse(readFileSync(this.#lastWordPath, "utf8")) : undefined;
  }

  get #lastWordPath(): string {
    return `${this.#path}.end`;
  }
}
