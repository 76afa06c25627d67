// Prints the spans that it receives by OTLP over HTTP in JSON, a line each. It shows spans, and keeps none.
import { createServer } from "node:http";

const port = Number(process.argv[2] ?? 4318);
const kinds = ["", "internal", "server", "client"];

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  for (const span of resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))) {
    const ms = Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6;
    const below = span.parentSpanId === undefined ? "" : ` below ${span.parentSpanId}`;
    console.log(`trace ${span.traceId} ${kinds[span.kind]} ${span.name} ${span.spanId}${below} ${ms} ms`);
  }
  response.writeHead(200, { "content-type": "application/json" }).end("{}");
}).listen(port, "127.0.0.1", () => console.log("listening"));
