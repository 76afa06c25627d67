// Creates orders through Countersign with fetch: COUNT of them, over kept connections.
// fetch uses no proxy of the environment. With NODE_USE_ENV_PROXY=1, set NO_PROXY=127.0.0.1 too.
const { BASE_URL = "http://127.0.0.1:7411", COUNT = "1" } = process.env;

/** The outcome of one order; undefined if no answer came. */
async function createOrder(reference) {
  try {
    // fetch keeps its connections and repeats no POST. Leave retry agents and interceptors out.
    const answer = await fetch(`${BASE_URL}/create_order`, {
      method: "POST",
      headers: { "content-type": "application/json", "countersign-reference": reference },
      body: JSON.stringify({ order_amount: 10, order_currency: "EUR" }),
      redirect: "manual", // a redirect would send the order again
      signal: AbortSignal.timeout(25_000), // longer than Countersign's own 20 s, so that Countersign says how it ended
    });
    // Read the answer to its end, or the connection is not used again.
    await answer.arrayBuffer();
    const outcome = answer.headers.get("countersign-outcome");
    console.log(answer.status, outcome);
    return outcome;
  } catch (error) {
    console.error(`${reference}: no answer: ${error.cause ?? error}`);
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
