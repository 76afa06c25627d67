import type { IncomingMessage } from "node:http";
import type { Totals } from "./counts.ts";
import type { HostName } from "./fault.ts";
import type { FaultPlan } from "./faults.ts";
import type { Exchange } from "./listening-host.ts";

const bodyLimitBytes = 1_048_576;

/** Receives the body of a request, or undefined if a fault, the client or its size prevents that; then nothing is left to do. */
export async function receiveBody(
  { request, response, reset }: Exchange,
  host: HostName,
  plan: FaultPlan,
  totals: Totals,
): Promise<Buffer | undefined> {
  if (plan.takeUnread(host) !== undefined) {
    totals.incomplete += 1;
    reset();
    return undefined;
  }
  const body = await readBody(request, bodyLimitBytes);
  if (Buffer.isBuffer(body)) return body;
  totals.incomplete += 1;
  if (body === "too_large") response.writeHead(413, { connection: "close" }).end();
  return undefined;
}

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
