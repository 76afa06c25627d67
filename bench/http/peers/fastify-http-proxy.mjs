// @fastify/http-proxy with its defaults, without the signing job. Usage: fastify-http-proxy.mjs PORT SERVICE_URL
import { createRequire } from "node:module";

const require = createRequire(`${process.env.BENCH_MODULES}/`);
const [port, service] = process.argv.slice(2);
const server = require("fastify")();
server.register(require("@fastify/http-proxy"), {
  upstream: service,
  rewritePrefix: "/json-api",
});
await server.listen({ port: Number(port), host: "127.0.0.1" });
