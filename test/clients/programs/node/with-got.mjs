import { Agent } from "node:http";
import got from "got";
import { isSet, order, tell, url } from "./order.mjs";

const options = isSet ? { followRedirect: false } : {};
const client = got.extend({ agent: { http: new Agent({ keepAlive: true }) }, throwHttpErrors: false, ...options });

await tell(async (headers) => (await client.post(url, { json: order, headers })).statusCode);
