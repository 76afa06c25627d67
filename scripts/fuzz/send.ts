import { connect, type Socket } from "node:net";
import type { Input } from "./input.ts";
import { closes, readAnswers } from "./read-answers.ts";
import { readRequests } from "./read-requests.ts";

export interface Transcript {
  /** Everything that came back (latin1). */
  readonly received: string;
  /**
   * `closed`: by the proxy. `done`: all that was due had come. `left`: by us, while nothing was due. `silent`: something
   * was due and did not come in time. `refused`: there was no connection. `broken`: the proxy had closed while we still
   * wrote, and Node drops what it has not read when a write fails, so an answer may have come.
   */
  readonly end: "closed" | "done" | "left" | "silent" | "refused" | "broken";
}

/** Where the proxy listens. */
export interface Doors {
  readonly port: number;
  readonly socketPath: string;
}

/** Ten times what an answer takes on a busy machine. */
const patienceMs = 5_000;
/** Nothing is due any more: what might still come of a request that is not clear. */
const curiosityMs = 60;
const afterthoughtMs = 3;

/** Plays one connection. Never rejects. */
export function send(input: Input, { port, socketPath }: Doors): Promise<Transcript> {
  const at = input.door === "tcp" ? { port, host: "127.0.0.1" } : { path: socketPath };
  const socket = connect({ ...at, allowHalfOpen: true, noDelay: true });
  return new Exchange(input, socket).ended;
}

class Exchange {
  readonly ended: Promise<Transcript>;
  readonly #input: Input;
  readonly #socket: Socket;
  readonly #clear: number;
  readonly #hasRest: boolean;
  readonly #isHeadPossible: boolean;
  #received = "";
  #isConnected = false;
  #isWritten = false;
  #timer: NodeJS.Timeout | undefined;
  #finish: (transcript: Transcript) => void = () => {};

  constructor(input: Input, socket: Socket) {
    this.#input = input;
    this.#socket = socket;
    const text = input.bytes.toString("latin1");
    const { clear, restBytes } = readRequests(text);
    this.#clear = clear.length;
    this.#hasRest = restBytes > 0;
    this.#isHeadPossible = /head /i.test(text);
    this.ended = new Promise((resolve) => {
      this.#finish = resolve;
    });
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      this.#received += text;
      if (this.#isWritten) this.#look();
    });
    socket.on("error", ({ syscall }: NodeJS.ErrnoException) => {
      if (syscall === "write") this.#end("broken");
    });
    socket.once("end", () => this.#end("closed"));
    socket.once("close", () => this.#end(this.#isConnected ? "closed" : "refused"));
    socket.once("connect", () => {
      this.#isConnected = true;
      void this.#write();
    });
  }

  async #write(): Promise<void> {
    const { bytes, slices, ending } = this.#input;
    let from = 0;
    for (const to of [...slices, bytes.length]) {
      if (to <= from || this.#socket.destroyed) continue;
      const piece = bytes.subarray(from, to);
      await new Promise((resolve) => this.#socket.write(piece, resolve));
      // The other side gets to read each piece on its own.
      await new Promise(setImmediate);
      from = to;
    }
    this.#isWritten = true;
    if (ending === "leave") this.#end("left");
    else if (ending === "half_close") this.#socket.end();
    this.#look();
  }

  /** Decides how long to go on: something is due, something may yet come, or all is said. */
  #look(): void {
    const { answers, isCut, fault } = readAnswers(this.#received, this.#isHeadPossible);
    const last = answers.at(-1);
    const isClosing = last !== undefined && closes(last);
    // What is no HTTP will not become so by waiting.
    const isDue =
      fault === undefined && this.#input.ending === "stay" && (isCut || (!isClosing && answers.length < this.#clear));
    if (isDue) this.#wait(patienceMs, "silent");
    else if (isClosing || !this.#hasRest) this.#conclude();
    else this.#wait(curiosityMs, "left");
  }

  #wait(ms: number, end: Transcript["end"]): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#end(end), ms);
  }

  /** An answer too many would come right behind the last, so our own last word waits a moment. */
  #conclude(): void {
    const end = this.#input.ending === "half_close" ? "left" : "done";
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (!this.#socket.writableEnded) this.#socket.end();
      this.#wait(curiosityMs, end);
    }, afterthoughtMs);
  }

  #end(end: Transcript["end"]): void {
    clearTimeout(this.#timer);
    this.#socket.destroy();
    this.#finish({ received: this.#received, end });
  }
}
