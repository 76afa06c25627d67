import type { IncomingMessage } from "node:http";

/** The whole body, or why there is none. */
export type BodyReading = Buffer | "too_large" | "incomplete";

/** Reads a body up to a limit; the rest of a larger one is left unread. */
export function readBody(request: IncomingMessage, limitBytes: number): Promise<BodyReading> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > limitBytes) {
        request.pause();
        resolve("too_large");
      } else {
        chunks.push(chunk);
      }
    });
    request.once("end", () => resolve(Buffer.concat(chunks)));
    request.once("error", () => resolve("incomplete"));
    request.once("close", () => resolve("incomplete"));
  });
}
