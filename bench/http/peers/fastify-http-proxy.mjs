// @fastify/http-proxy with its defaults, without the signing job. Usage: fastify-http-proxy.mjs PORT SERVICE_PORT
import { createRequire } from "node:module";

const require = createRequire(`${process.env.BENCH_MODULES}/`);
const [port, servicePort] = process.argv.slice(2).map(Number);
const server = require("fastify")();
server.register(require("@fastify/http-proxy"), {
  upstream: `http://127.0.0.1:${servicePort}`,
  rewritePrefix: "/json-api",
});
await server.listen({ port, host: "127.0.0.1" });
