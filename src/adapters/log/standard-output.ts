import { constants, fstatSync, openSync, writeSync } from "node:fs";
import type { Clock } from "../../model/clock.ts";

/** Unwritten text beyond this is dropped: a reader of standard output that stalls must not fill our memory. */
const longestBacklog = 2_097_152;
/** What is written in one go. */
const chunkLength = 65_536;
/** How long a line may wait for others, and how many characters may wait: a quarter of what a pipe holds. */
const batchMs = 50;
const batchLength = 16_384;
/** How often a full pipe is tried again. */
const retryMs = 5;
/** At exit: how long a reader may take nothing before the rest is given up, and how long it may take in all. */
const exitStallMs = 500;
const exitMs = 2_000;

/** Writes what it can without waiting, and returns how much that was; throws as `fs.writeSync` does. */
type WriteNow = (bytes: Uint8Array) => number;

export type LineOutput = ReturnType<typeof createLineOutput>;

/**
 * Lines on their way to standard output. Nothing waits for its reader: neither requests nor the end of the process.
 * @param writeNow must not block
 * @param onResume called after lines were dropped, once lines are written again; may write a line itself
 */
export function createLineOutput(writeNow: WriteNow, clock: Clock, onResume: (dropped: number) => void) {
  const lines: string[] = [];
  /** The length of `lines`, in characters. */
  let linesLength = 0;
  let chunk: Uint8Array = new Uint8Array();
  let linesInChunk = 0;
  let writtenBytes = 0;
  let dropped = 0;
  /** How many of them `onResume` knows. */
  let reported = 0;
  let isClosed = false;
  /** The reader took no more the last time. */
  let isStalled = false;
  /** The last chunk was written, not dropped. */
  let hasRoom = true;
  /** What the timer was set to. */
  let timerMs = Number.POSITIVE_INFINITY;
  let cancelTimer = () => {};

  const fill = () => {
    let text = "";
    linesInChunk = 0;
    while (linesInChunk < lines.length && text.length < chunkLength) text += lines[linesInChunk++];
    lines.splice(0, linesInChunk);
    linesLength -= text.length;
    chunk = Buffer.from(text, "utf8");
  };

  /** @returns whether all was written; false where the reader takes no more at present */
  const pump = (): boolean => {
    while (chunk.length > 0 || lines.length > 0) {
      if (chunk.length === 0) fill();
      try {
        const written = writeNow(chunk);
        chunk = chunk.subarray(written);
        writtenBytes += written;
        hasRoom = true;
      } catch (error) {
        if (!giveUp(error)) return false;
      }
    }
    return true;
  };

  /** @returns false where trying again may help */
  const giveUp = (error: unknown): boolean => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EAGAIN" || code === "EINTR") return false;
    // A disk that is full may have room later; a reader that has closed its end does not come back.
    isClosed = code === "EPIPE" || code === "EBADF";
    dropped += linesInChunk + (isClosed ? lines.splice(0).length : 0);
    if (isClosed) linesLength = 0;
    chunk = new Uint8Array();
    hasRoom = false;
    return true;
  };

  const run = () => {
    timerMs = Number.POSITIVE_INFINITY;
    isStalled = false;
    if (!pump()) {
      schedule(retryMs);
      isStalled = true;
      return;
    }
    const unreported = dropped - reported;
    if (unreported === 0 || !hasRoom) return;
    reported = dropped;
    onResume(unreported);
  };

  /** A reader that takes no more is tried again in its own time. */
  const schedule = (delayMs: number) => {
    if (isStalled || delayMs >= timerMs) return;
    cancelTimer();
    timerMs = delayMs;
    cancelTimer = clock.after(delayMs, run);
  };

  return {
    /** Lines that were not written because the reader stalled or had closed its end. */
    get dropped() {
      return dropped;
    },
    /** Takes a line, which is written within 50 ms together with others. */
    write(line: string) {
      if (isClosed || linesLength + chunk.length + line.length > longestBacklog) {
        dropped += 1;
        return;
      }
      lines.push(line);
      linesLength += line.length;
      schedule(linesLength < batchLength ? batchMs : 0);
    },
    /** Lets nothing wait any longer than this turn of the event loop. */
    writePending: () => schedule(0),
    /** For the end of the process: writes what is left as long as the reader takes it. */
    writeRest() {
      const startedMs = clock.nowMs();
      let progressMs = startedMs;
      let before = writtenBytes;
      while (!pump()) {
        const nowMs = clock.nowMs();
        if (writtenBytes > before) progressMs = nowMs;
        if (nowMs - progressMs >= exitStallMs || nowMs - startedMs >= exitMs) return;
        before = writtenBytes;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
      }
    },
  };
}

/** The process's own standard output. What is left at the end of the process is written as far as its reader takes it. */
export function openStandardOutput(clock: Clock, onResume: (dropped: number) => void): LineOutput {
  const descriptor = openWithoutBlocking();
  const output = createLineOutput((bytes) => writeSync(descriptor, bytes), clock, onResume);
  process.on("exit", () => output.writeRest());
  return output;
}

function openWithoutBlocking(): number {
  const { fd } = process.stdout;
  const kind = fstatSync(fd);
  // Node has made a pipe non-blocking by now. A terminal is shared with the shell, so it is opened once more.
  if (!kind.isCharacterDevice()) return fd;
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return fd;
  }
}
