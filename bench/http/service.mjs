// The service and the authorization server of the benchmark: as few instructions as possible, and a check of every 100th
// request. Prints one line of JSON with its ports; answers GET /counts with what it has seen.
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { isSigned, token } from "./job.mjs";

const body = '{"status":"ok","order_identifier":"O1"}';
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
);
const counts = { requests: 0, checked: 0, wrong: 0 };
const checkEach = 100;

const service = createServer({ noDelay: true }, (socket) => {
  let rest = "";
  socket.on("error", () => {});
  socket.on("data", (chunk) => {
    rest += chunk.toString("latin1");
    for (;;) {
      const end = rest.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = rest.slice(0, end);
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      if (rest.length < end + 4 + length) return;
      take(head, rest.slice(end + 4, end + 4 + length));
      rest = rest.slice(end + 4 + length);
      socket.write(answer);
    }
  });
});

function take(head, text) {
  counts.requests += 1;
  if (counts.requests % checkEach !== 0) return;
  counts.checked += 1;
  const job = /\r\nbench-job: (\w+)/i.exec(head)?.[1];
  const isRight = job === "hmac" ? isSigned(text) : job === "oauth" ? head.includes(`Bearer ${token}`) : true;
  if (!isRight) counts.wrong += 1;
}

const admin = createHttpServer((request, response) => {
  response.setHeader("Content-Type", "application/json");
  if (request.url === "/counts") return response.end(JSON.stringify(counts));
  response.setHeader("Cache-Control", "no-store");
  response.end(JSON.stringify({ access_token: token, token_type: "Bearer", expires_in: 86_400 }));
});

service.listen(0, "127.0.0.1", () => {
  admin.listen(0, "127.0.0.1", () => {
    process.stdout.write(`${JSON.stringify({ port: service.address().port, authPort: admin.address().port })}\n`);
  });
});
