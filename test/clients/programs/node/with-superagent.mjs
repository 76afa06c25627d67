import superagent from "superagent";
import { isSet, order, tell, url } from "./order.mjs";

const agent = superagent.agent();

await tell(async (header) => {
  const request = agent
    .post(url)
    .set(header)
    .ok(() => true);
  return (await (isSet ? request.redirects(0) : request).send(order)).status;
});
