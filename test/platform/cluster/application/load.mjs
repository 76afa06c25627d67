// Sends orders without a pause, four at a time on kept connections, until SIGTERM. The last line counts the results.
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";

const { ADDRESS = "", TOKEN_FILE } = process.env;
const authorization =
  TOKEN_FILE === undefined ? {} : { "proxy-authorization": `Bearer ${readFileSync(TOKEN_FILE, "utf8")}` };
const agent = new Agent({ keepAlive: true, maxSockets: 4 });
const body = JSON.stringify({ order_amount: 10, order_currency: "EUR" });
const answers = {};
let isTold = false;
process.on("SIGTERM", () => {
  isTold = true;
});

function order() {
  return new Promise((resolve) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body), ...authorization };
    const outgoing = request(`${ADDRESS}/create_order`, { method: "POST", agent, headers }, (incoming) => {
      incoming.resume().on("end", () => resolve(String(incoming.statusCode)));
    });
    outgoing.on("error", (error) => resolve(error.code ?? error.message));
    outgoing.end(body);
  });
}

async function call() {
  while (!isTold) {
    const answer = await order();
    answers[answer] = (answers[answer] ?? 0) + 1;
    if (answers[answer] === 50) process.stdout.write(`50 times ${answer}\n`);
  }
}

await Promise.all([call(), call(), call(), call()]);
agent.destroy();
process.stdout.write(`${JSON.stringify(answers)}\n`);
