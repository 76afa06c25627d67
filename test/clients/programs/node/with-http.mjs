import { once } from "node:events";
import { Agent, request } from "node:http";
import { order, tell, url } from "./order.mjs";

const agent = new Agent({ keepAlive: true });

await tell(async (header) => {
  const headers = { "Content-Type": "application/json", ...header };
  const sent = request(url, { method: "POST", agent, headers });
  sent.end(JSON.stringify(order));
  const [answer] = await once(sent, "response");
  await answer.toArray();
  return answer.statusCode;
});
