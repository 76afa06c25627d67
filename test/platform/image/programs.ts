/** Programs for `node -e` in a container, where there is no curl: what an application, or somebody at the simulator, does. */

/** Places an order at the proxy, and prints status and outcome. */
export const placeOrder = `
const order = { order_amount: 10, order_currency: "EUR", site_customer_identifier: "customer_1" };
const headers = { "content-type": "application/json" };
fetch("http://127.0.0.1:7411/create_order", { method: "POST", headers, body: JSON.stringify(order) })
  .then((answer) => console.log(answer.status, answer.headers.get("countersign-outcome")));`;

/** Makes the service keep the next order waiting. */
export const hang = `
fetch("http://127.0.0.1:7421/simulator/faults", { method: "POST", body: JSON.stringify({ host: "api", kind: "hang" }) })
  .then(({ status }) => console.log(status));`;

/** Ends when an order is kept waiting. */
export const untilOneHangs = `
const look = async () => {
  const waiting = await (await fetch("http://127.0.0.1:7421/simulator/faults")).json();
  if (waiting.length > 0) setTimeout(look, 20);
};
look();`;

/** Lets it go on. */
export const release = `
fetch("http://127.0.0.1:7421/simulator/faults/release", { method: "POST" }).then(({ status }) => console.log(status));`;

/** What the kernel says of the process that the container is for. */
export const showRights = `process.stdout.write(require("fs").readFileSync("/proc/1/status", "utf8"));`;

export const write = `require("fs").writeFileSync("/app/new", "");`;
