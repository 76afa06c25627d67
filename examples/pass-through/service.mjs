// A service with files, and the authorization server whose tokens the service demands.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

const [apiPort = "7421", loginPort = "7422"] = process.argv.slice(2);
const tokens = new Set();
const files = new Map();

const login = createServer((request, response) => {
  request.resume().on("end", () => {
    const token = randomUUID();
    tokens.add(`Bearer ${token}`);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ access_token: token, token_type: "Bearer", expires_in: 3600 }));
  });
});

const api = createServer(async (request, response) => {
  const { method, url, headers } = request;
  if (!tokens.has(headers.authorization)) {
    response.writeHead(401).end();
  } else if (url === "/v2/files/events") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const timer = setInterval(() => response.write(`data: there are ${files.size} files\n\n`), 500);
    response.on("close", () => clearInterval(timer));
  } else if (method === "PUT") {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    files.set(url, { type: headers["content-type"] ?? "application/octet-stream", bytes: Buffer.concat(chunks) });
    response.writeHead(201).end();
  } else if (files.has(url)) {
    const { type, bytes } = files.get(url);
    response.writeHead(200, { "content-type": type, "content-length": bytes.length }).end(bytes);
  } else {
    response.writeHead(404).end();
  }
});

login.listen(Number(loginPort), "127.0.0.1", () =>
  api.listen(Number(apiPort), "127.0.0.1", () => process.stdout.write("listening\n")),
);
