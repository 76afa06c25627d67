// Creates an order through Countersign, COUNT times over one connection. Prints the status and the outcome of each.
const { BASE_URL = "http://127.0.0.1:7411", COUNT = "1" } = process.env;

for (let count = 0; count < Number(COUNT); count++) {
  // fetch keeps its connections and repeats no POST. Leave retry agents and interceptors out.
  const answer = await fetch(`${BASE_URL}/create_order`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ order_amount: 10, order_currency: "EUR" }),
    // Longer than Countersign's own 20 s, so that Countersign says how it ended.
    signal: AbortSignal.timeout(25_000),
  });
  await answer.arrayBuffer();
  // "unknown": the order may exist. Look for it before you send it again.
  console.log(answer.status, answer.headers.get("countersign-outcome"));
}
