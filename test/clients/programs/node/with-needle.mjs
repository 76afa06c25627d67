import { Agent } from "node:http";
import needle from "needle";
import { order, tell, url } from "./order.mjs";

const agent = new Agent({ keepAlive: true });

await tell(async (headers) => (await needle("post", url, order, { json: true, agent, headers })).statusCode);
