import ky from "ky";
import { isSet, order, tell, url } from "./order.mjs";

const options = isSet ? { redirect: "manual" } : {};

await tell(async (headers) => {
  const answer = await ky.post(url, { json: order, headers, throwHttpErrors: false, ...options });
  await answer.text();
  return answer.status;
});
