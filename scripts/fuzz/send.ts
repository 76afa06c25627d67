import { connect } from "node:net";
import type { Input } from "./input.ts";
import { closes, readAnswers } from "./read-answers.ts";
import { readRequests } from "./read-requests.ts";

export interface Transcript {
  /** Everything that came back (latin1). */
  readonly received: string;
  /**
   * `closed`: by the proxy. `done`: all due answers had come. `left`: by us, while no answer was due. `silent`: a due
   * answer did not come in time. `refused`: there was no connection. `broken`: the proxy had closed while we still
   * wrote, and Node drops unread bytes when a write fails, so an answer may have come.
   */
  readonly end: "closed" | "done" | "left" | "silent" | "refused" | "broken";
}

/** Where the proxy listens. */
export interface Doors {
  readonly port: number;
  readonly socketPath: string;
}

/** On a busy machine a process can stand still for several seconds. */
const patienceMs = 30_000;
/** How long to wait, when nothing is due, for an answer to a request that is not clear. */
const curiosityMs = 60;
const afterthoughtMs = 3;

/** Plays one connection. Never rejects. */
export function send({ door, bytes, slices, ending }: Input, { port, socketPath }: Doors): Promise<Transcript> {
  const text = bytes.toString("latin1");
  const { clear, restBytes } = readRequests(text);
  const at = door === "tcp" ? { port, host: "127.0.0.1" } : { path: socketPath };
  const socket = connect({ ...at, allowHalfOpen: true, noDelay: true }).setEncoding("latin1");
  let received = "";
  let isConnected = false;
  let isWritten = false;
  let timer: NodeJS.Timeout | undefined;
  return new Promise((resolve) => {
    const end = (how: Transcript["end"]) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ received, end: how });
    };
    const after = (ms: number, task: () => void) => {
      clearTimeout(timer);
      timer = setTimeout(task, ms);
    };
    /** A surplus answer would come right behind the last one, so we wait a moment before we end. */
    const conclude = () => {
      if (!socket.writableEnded) socket.end();
      after(curiosityMs, () => end(ending === "half_close" ? "left" : "done"));
    };
    /** Decides how long to wait: an answer is due, an answer may still come, or all answers have come. */
    const look = () => {
      const { answers, isCut, fault } = readAnswers(received, /head /i.test(text));
      const last = answers.at(-1);
      const isClosing = last !== undefined && closes(last);
      // Bytes that are not HTTP do not become HTTP by waiting.
      const isDue = fault === undefined && ending === "stay" && (isCut || (!isClosing && answers.length < clear));
      if (isDue) after(patienceMs, () => end("silent"));
      else if (isClosing || restBytes === 0) after(afterthoughtMs, conclude);
      else after(curiosityMs, () => end("left"));
    };
    const write = async () => {
      let from = 0;
      for (const to of [...slices, bytes.length]) {
        if (to <= from || socket.destroyed) continue;
        await new Promise((written) => socket.write(bytes.subarray(from, to), written));
        // So the other side can read each piece separately.
        await new Promise(setImmediate);
        from = to;
      }
      isWritten = true;
      if (ending === "leave") return end("left");
      if (ending === "half_close") socket.end();
      look();
    };
    socket.on("data", (more) => {
      received += more;
      if (isWritten) look();
    });
    socket.on("error", ({ syscall }: NodeJS.ErrnoException) => {
      if (syscall === "write") end("broken");
    });
    socket.once("end", () => end("closed"));
    socket.once("close", () => end(isConnected ? "closed" : "refused"));
    socket.once("connect", () => {
      isConnected = true;
      void write();
    });
  });
}
