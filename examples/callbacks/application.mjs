// An application that accepts callbacks. It listens on loopback only: whoever reaches it could forge Countersign-Verified.
import { createServer } from "node:http";

const port = Number(process.argv[2] ?? 8080);

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const key = request.headers["countersign-verified"];
  if (key === undefined) return response.writeHead(403).end("not from Countersign\n");
  const body = Buffer.concat(chunks).toString("utf8");
  const isJson = request.headers["content-type"]?.startsWith("application/json");
  const { event, site_identifier } = isJson ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body));
  console.log(`${event} for ${site_identifier}, verified by ${key}`);
  response.writeHead(200, { "content-type": "text/plain" }).end("OK\n");
}).listen(port, "127.0.0.1", () => console.log("listening"));
