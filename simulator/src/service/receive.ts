import type { Totals } from "./counts.ts";
import type { HostName } from "./fault.ts";
import type { FaultPlan } from "./faults.ts";
import type { Exchange } from "./listening-host.ts";
import { readBody } from "./read-body.ts";

const bodyLimitBytes = 1_048_576;

/** Receives the body of a request, unless a fault, the client or its size prevents that; then all is said and done. */
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
