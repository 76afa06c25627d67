import { createServer } from "node:net";
import { listen } from "../../../../testkit/listen.ts";

/** A service that keeps each request's bytes until they are taken, and answers 200 with the request's number. */
export interface Recorder {
  readonly url: string;
  /** Requests that came so far. */
  readonly count: number;
  /** The bytes of the request with that number; they are kept no longer. */
  take(number: number): Buffer;
}

/** Reads nothing of a request but where it ends. It ends with the test. */
export async function startRecorder(): Promise<Recorder> {
  const kept = new Map<number, Buffer>();
  let count = 0;
  const server = createServer({ noDelay: true }, (socket) => {
    let pending: Buffer = Buffer.alloc(0);
    socket
      .on("error", () => {})
      .on("data", (chunk) => {
        pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
        for (let end = endOfRequest(pending); end !== undefined; end = endOfRequest(pending)) {
          count += 1;
          kept.set(count, Buffer.from(pending.subarray(0, end)));
          pending = pending.subarray(end);
          const number = String(count);
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${number.length}\r\n\r\n${number}`);
        }
      });
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    get count() {
      return count;
    },
    take(number) {
      const bytes = kept.get(number);
      if (bytes === undefined) throw new Error(`request ${number} never came, or was taken already`);
      kept.delete(number);
      return bytes;
    },
  };
}

function endOfRequest(bytes: Buffer): number | undefined {
  const gap = bytes.indexOf("\r\n\r\n");
  if (gap === -1) return undefined;
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(bytes.toString("latin1", 0, gap))?.[1] ?? 0);
  const end = gap + 4 + length;
  return bytes.length < end ? undefined : end;
}
