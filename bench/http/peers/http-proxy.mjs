// A program with the package http-proxy that does the signing job. Usage: http-proxy.mjs PORT SERVICE_PORT
import { Agent, createServer } from "node:http";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { signOrder } from "../job.mjs";

const httpProxy = createRequire(`${process.env.BENCH_MODULES}/`)("http-proxy");
const [port, servicePort] = process.argv.slice(2).map(Number);
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const proxy = httpProxy.createProxyServer({ target: `http://127.0.0.1:${servicePort}`, agent });
createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.from(signOrder(Buffer.concat(chunks).toString("utf8")));
    request.headers["content-length"] = String(body.length);
    request.headers["bench-job"] = "hmac";
    proxy.web(request, response, { buffer: Readable.from([body]) });
  });
}).listen(port, "127.0.0.1");
