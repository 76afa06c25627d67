import { constants, fstatSync, openSync, writeSync } from "node:fs";
import type { Clock } from "../../model/clock.ts";

/** Unwritten text beyond this is dropped: a reader of standard output that stalls must not fill our memory. */
const longestBacklog = 2_097_152;
const lineEnd = 0x0a;
/** How many characters are written in one go. */
const chunkLength = 65_536;
/** How long a line may wait for others, and how many characters may wait: a quarter of what a pipe holds. */
const batchMs = 50;
const batchLength = 16_384;
/** How often a full pipe is tried again. */
const retryMs = 5;
/** At exit: how long a reader may accept nothing before the rest is dropped, and how long the writing may take in all. */
const exitStallMs = 500;
const exitMs = 2_000;

/** Writes as many bytes as it can without waiting, and returns their number; throws as `fs.writeSync` does. */
type WriteNow = (bytes: Uint8Array) => number;

export type LineOutput = ReturnType<typeof createLineOutput>;

/**
 * Writes lines to standard output. No request waits for its reader, and the end of the process for 2 s at most.
 * @param writeNow must not block
 * @param onResume called after lines were dropped, once lines are written again; may write a line itself
 */
export function createLineOutput(writeNow: WriteNow, clock: Clock, onResume: (dropped: number) => void) {
  const lines: string[] = [];
  /** The length of `lines`, in characters. */
  let linesLength = 0;
  let chunk: Uint8Array = new Uint8Array();
  /** Whether a line was written in part. */
  let isLineOpen = false;
  let writtenBytes = 0;
  let dropped = 0;
  /** How many dropped lines `onResume` was called for. */
  let reported = 0;
  let isClosed = false;
  /** Whether the reader accepted no more the last time. */
  let isStalled = false;
  /** Whether the last chunk was written, not dropped. */
  let hasRoom = true;
  /** The delay that the timer was set to. */
  let timerMs = Number.POSITIVE_INFINITY;
  let cancelTimer = () => {};

  const fill = () => {
    let text = "";
    let taken = 0;
    while (taken < lines.length && text.length < chunkLength) text += lines[taken++];
    lines.splice(0, taken);
    linesLength -= text.length;
    // The rest of an open line was dropped.
    chunk = Buffer.from(isLineOpen ? `\n${text}` : text, "utf8");
  };

  /** @returns false if the reader accepts no more at present */
  const pump = (): boolean => {
    while (chunk.length > 0 || lines.length > 0) {
      if (chunk.length === 0) fill();
      try {
        const written = writeNow(chunk);
        isLineOpen = chunk[written - 1] !== lineEnd;
        chunk = chunk.subarray(written);
        writtenBytes += written;
        hasRoom = true;
      } catch (error) {
        if (!giveUp(error)) return false;
      }
    }
    return true;
  };

  /** Drops the chunk. @returns false if trying again may help, so that nothing is dropped */
  const giveUp = (error: unknown): boolean => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EAGAIN" || code === "EINTR") return false;
    // A disk that is full may have room later; a reader that has closed its end does not come back.
    isClosed = code === "EPIPE" || code === "EBADF";
    // A line end at the very beginning ends a line whose text was written, or dropped before.
    const inChunk = chunk.filter((byte, index) => byte === lineEnd && index > 0).length;
    dropped += inChunk + (isClosed ? lines.splice(0).length : 0);
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

  /** Does nothing while the reader is stalled: the next try is already set. */
  const schedule = (delayMs: number) => {
    if (isStalled || delayMs >= timerMs) return;
    cancelTimer();
    cancelTimer = clock.after(delayMs, run);
    timerMs = delayMs;
  };

  return {
    /** Lines that were not written: the reader stalled or had closed its end, or a disk was full. */
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
    /** Writes waiting lines as soon as this turn of the event loop is over. */
    writePending: () => schedule(0),
    /** For the end of the process: writes the remaining lines as long as the reader accepts them. */
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

/** The process's own standard output. At the end of the process the remaining lines are written, as far as its reader accepts them. */
export function openStandardOutput(clock: Clock, onResume: (dropped: number) => void): LineOutput {
  const descriptor = openWithoutBlocking();
  const output = createLineOutput((bytes) => writeSync(descriptor, bytes), clock, onResume);
  process.on("exit", () => output.writeRest());
  return output;
}

function openWithoutBlocking(): number {
  const { fd } = process.stdout;
  const kind = fstatSync(fd);
  // Node has already made a pipe non-blocking. A terminal is shared with the shell, so it is opened once more.
  if (!kind.isCharacterDevice()) return fd;
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return fd;
  }
}
