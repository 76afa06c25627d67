import { Agent } from "node:http";
import axios from "axios";
import { order, tell, url } from "./order.mjs";

const client = axios.create({ httpAgent: new Agent({ keepAlive: true }), validateStatus: () => true });

await tell(async (headers) => (await client.post(url, order, { headers })).status);
