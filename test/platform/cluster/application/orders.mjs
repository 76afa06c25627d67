// The shop's application: it calls the address in its environment, and knows nothing of the service.
//   orders.mjs         one order at its start, one a second, and one after SIGTERM
//   orders.mjs settle  with any argument: one order, and then it ends
import { setTimeout as pause } from "node:timers/promises";

const address = process.env.BASE_URL ?? process.env.COUNTERSIGN_URL;

const note = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);

async function order(when) {
  try {
    const response = await fetch(`${address}/create_order`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ order_amount: 10, order_currency: "EUR" }),
      signal: AbortSignal.timeout(60_000),
    });
    const outcome = response.headers.get("countersign-outcome");
    note({ when, status: response.status, outcome });
    return response.ok;
  } catch (error) {
    note({ when, error: String(error.cause ?? error) });
    return false;
  }
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
