// A program with the package http-proxy that does the signing job, and passes a GET on with a token. Usage: http-proxy.mjs PORT SERVICE_URL
import { Agent, createServer } from "node:http";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { signOrder, token } from "../job.mjs";

const httpProxy = createRequire(`${process.env.BENCH_MODULES}/`)("http-proxy");
const [port, service] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const proxy = httpProxy.createProxyServer({ target: service, agent });
createServer((request, response) => {
  if (request.method === "GET") return proxy.web(request, response, { headers: { authorization: `Bearer ${token}` } });
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.from(signOrder(Buffer.concat(chunks).toString("utf8")));
    request.headers["content-length"] = String(body.length);
    request.headers["bench-job"] = "hmac";
    proxy.web(request, response, { buffer: Readable.from([body]) });
  });
}).listen(Number(port), "127.0.0.1");
