import { monitorEventLoopDelay } from "node:perf_hooks";
import { Pool } from "undici";
import type { Load, Stretch } from "./stretch.ts";

// A separate process, so that it measures the proxy's time and not its parent's. It receives one load after the other,
// and returns the result of each.

const url = process.argv[2] ?? "";
const pool = new Pool(url, { pipelining: 1 });
const body = JSON.stringify({ order_amount: "10.00", order_currency: "EUR", site_customer_identifier: "customer_1" });
const tickMs = 2;

interface Tally {
  served: number;
  readonly servedMs: number[];
  readonly refusedMs: number[];
  readonly strange: Map<string, number>;
}

process.on("message", async (load: Load) => process.send?.(await play(load)));
process.on("disconnect", () => process.exit());

async function play(load: Load): Promise<Stretch> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const tally: Tally = { served: 0, servedMs: [], refusedMs: [], strange: new Map() };
  const startedMs = performance.now();
  const isOver = () => performance.now() - startedMs >= load.lastsMs;
  const open =
    load.kind === "callers" ? callInTurn(load.callers, isOver, tally) : callOpen(load.perSecond, isOver, tally);
  const sent = await open.sent;
  const elapsedMs = performance.now() - startedMs;
  const { served } = tally;
  await open.answered;
  delay.disable();
  return {
    offeredPerSecond: (sent * 1_000) / elapsedMs,
    goodputPerSecond: (served * 1_000) / elapsedMs,
    served: tally.servedMs.length,
    servedMs: tally.servedMs,
    refusedMs: tally.refusedMs,
    strange: [...tally.strange].map(([what, count]) => `${count} × ${what}`),
    stoodStillMs: delay.max / 1e6,
  };
}

/** Closed loop: each caller waits for its answer before it sends again. */
function callInTurn(callers: number, isOver: () => boolean, tally: Tally) {
  let count = 0;
  const all = Array.from({ length: callers }, async () => {
    while (!isOver()) {
      count += 1;
      await order(tally);
    }
  });
  const answered = Promise.all(all);
  return { sent: answered.then(() => count), answered };
}

/** Open loop: a slow answer delays no other order, and a late tick sends the overdue orders. */
function callOpen(perSecond: number, isOver: () => boolean, tally: Tally) {
  const all: Promise<void>[] = [];
  const startedMs = performance.now();
  const sent = new Promise<number>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.floor(((performance.now() - startedMs) * perSecond) / 1_000);
      while (all.length < due) all.push(order(tally));
      if (!isOver()) return;
      clearInterval(timer);
      resolve(all.length);
    }, tickMs);
  });
  return { sent, answered: sent.then(() => Promise.all(all)) };
}

async function order(tally: Tally): Promise<void> {
  const sentMs = performance.now();
  const what = await send().catch((error: unknown) => String(error));
  const tookMs = performance.now() - sentMs;
  if (what === "served") {
    tally.served += 1;
    tally.servedMs.push(tookMs);
  } else if (what === "refused") tally.refusedMs.push(tookMs);
  else tally.strange.set(what, (tally.strange.get(what) ?? 0) + 1);
}

/** A refusal is a 503 `overloaded` with Retry-After; any other answer that is not an order is strange. */
async function send(): Promise<string> {
  const {
    statusCode,
    headers,
    body: answer,
  } = await pool.request({
    method: "POST",
    path: "/create_order",
    headers: { "content-type": "application/json" },
    body,
  });
  await answer.text();
  if (statusCode === 200) return "served";
  const isRefusal = statusCode === 503 && headers["countersign-error"] === "overloaded";
  return isRefusal && Number(headers["retry-after"]) >= 1 ? "refused" : `status ${statusCode}`;
}
