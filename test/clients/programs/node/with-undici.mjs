import { request } from "undici";
import { order, tell, url } from "./order.mjs";

await tell(async (header) => {
  const headers = { "Content-Type": "application/json", ...header };
  const answer = await request(url, { method: "POST", headers, body: JSON.stringify(order) });
  await answer.body.text();
  return answer.statusCode;
});
