import { order, tell, url } from "./order.mjs";

await tell(async (header) => {
  const headers = { "Content-Type": "application/json", ...header };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(order) });
  await answer.text();
  return answer.status;
});
