import type { Pool } from "undici";
import { Load } from "../../testkit/load.ts";
import type { FleetEvent } from "./account.ts";

export const requestsPerSecond = 100;

const body = JSON.stringify({
  order_amount: "10.00",
  order_currency: "EUR",
  site_customer_identifier: "customer_1",
});

const mostAtOnce = 10;
/** Beyond the replica's own deadline, so that it is the replica that says how a request ended. */
const timeoutMs = 30_000;

/** The callers. */
export function createLoad(report: (answered: Extract<FleetEvent, { kind: "answered" }>) => void): Load {
  return new Load({
    mostAtOnce,
    async order({ replica, pool }) {
      const startedMs = performance.now();
      const failure = await order(pool).catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
      report({ kind: "answered", replica, durationMs: performance.now() - startedMs, failure });
    },
  });
}

/** @returns what went wrong, undefined when the order exists */
async function order(pool: Pool): Promise<string | undefined> {
  const answer = await pool.request({
    method: "POST",
    path: "/create_order",
    headers: { "content-type": "application/json" },
    body,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  await answer.body.dump();
  if (answer.statusCode === 200) return undefined;
  const { "countersign-error": code = "by the service", "countersign-outcome": outcome = "" } = answer.headers;
  return `${answer.statusCode} ${code} ${outcome}`.trim();
}
