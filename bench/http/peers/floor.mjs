// The floor: node:http and undici doing the signing job without a single check. Usage: floor.mjs PORT SERVICE_URL
import { createServer } from "node:http";
import { Pool } from "undici";
import { signOrder } from "../job.mjs";

const [port, service] = process.argv.slice(2);
const pool = new Pool(service, { connections: 256 });
createServer((request, response) => {
  let text = "";
  request.setEncoding("utf8");
  request.on("data", (chunk) => {
    text += chunk;
  });
  request.on("end", () => {
    const body = Buffer.from(signOrder(text));
    const headers = { "content-type": "application/json", "bench-job": "hmac" };
    pool.request({ path: "/json-api/create_order", method: "POST", headers, body }).then(async (answer) => {
      const whole = Buffer.from(await answer.body.arrayBuffer());
      response.writeHead(answer.statusCode, { "content-type": "application/json", "content-length": whole.length });
      response.end(whole);
    });
  });
}).listen(Number(port), "127.0.0.1");
