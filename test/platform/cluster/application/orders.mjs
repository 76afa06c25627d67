// The shop's application: it calls the address in its environment, and knows nothing of the service.
//   orders.mjs         one order at its start, one a second, and one after SIGTERM
//   orders.mjs settle  with any argument: one order, and then it ends
// It prints what became of each order, and tells it to the address in NOTES, if there is one (notes.mjs).
import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";

const { NOTES } = process.env;
const address = process.env.BASE_URL ?? process.env.COUNTERSIGN_URL;

async function note(what) {
  process.stdout.write(`${JSON.stringify(what)}\n`);
  if (NOTES !== undefined) await fetch(NOTES, { method: "POST", body: JSON.stringify({ pod: hostname(), ...what }) });
}

async function create() {
  const response = await fetch(`${address}/create_order`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ order_amount: 10, order_currency: "EUR" }),
    signal: AbortSignal.timeout(60_000),
  });
  const problem = response.ok ? undefined : await response.text();
  return { status: response.status, outcome: response.headers.get("countersign-outcome"), problem };
}

async function order(when) {
  const result = await create().catch((error) => ({ error: String(error.cause ?? error) }));
  await note({ when, ...result });
  return result.status === 200;
}

if (process.argv.length > 2) process.exitCode = (await order("once")) ? 0 : 1;
else {
  const told = new AbortController();
  process.on("SIGTERM", () => told.abort());
  await order("start");
  while (!told.signal.aborted) {
    await pause(1_000, undefined, { signal: told.signal }).catch(() => {});
    if (!told.signal.aborted) await order("running");
  }
  // An application finishes its work, which takes a while.
  await pause(2_000);
  await order("end");
}
