// Creates orders through Countersign with axios: COUNT of them, over one connection.
import { Agent } from "node:http";
import axios from "axios";

// With HTTP_PROXY set, set NO_PROXY=127.0.0.1 too: axios uses the proxy for loopback addresses as well.
const { BASE_URL = "http://127.0.0.1:7411", COUNT = "1" } = process.env;

// axios repeats no POST. Leave axios-retry and the like out.
const client = axios.create({
  baseURL: BASE_URL,
  httpAgent: new Agent({ keepAlive: true }),
  maxRedirects: 0, // a redirect would send the order again
  timeout: 25_000, // longer than Countersign's own 20 s, so that Countersign says how it ended
  validateStatus: () => true, // no status is an error: the outcome decides
});

/** The outcome of one order; undefined if no answer came. */
async function createOrder(reference) {
  try {
    const order = { order_amount: 10, order_currency: "EUR" };
    const answer = await client.post("/create_order", order, { headers: { "Countersign-Reference": reference } });
    const outcome = answer.headers["countersign-outcome"];
    console.log(answer.status, outcome);
    return outcome;
  } catch (error) {
    console.error(`${reference}: no answer: ${error.message}`);
    return undefined;
  }
}

for (let number = 1; number <= Number(COUNT); number++) {
  const reference = `order-${number}`; // your own key for the order, by which you find it again
  const outcome = await createOrder(reference);
  if (outcome === "answered") continue;
  if (outcome === "not_sent") {
    console.error(`${reference} was not sent: it may be sent again`);
    process.exit(75);
  }
  console.error(`${reference} may exist: look for it before you send it again`);
  process.exit(1);
}
