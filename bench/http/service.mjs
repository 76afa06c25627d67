// The service, the application and the authorization server of the benchmark: as few instructions as possible, and a check of every 100th
// request. Prints one line of JSON with its ports; answers GET /counts with what it has seen.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { isSigned, token } from "./job.mjs";

const answer = answerWith("application/json", '{"status":"ok","order_identifier":"O1"}');
/** Answers with a file, by its length in bytes. */
const files = new Map(
  [1_024, 1_048_576].map((bytes) => [String(bytes), answerWith("application/octet-stream", "x".repeat(bytes))]),
);
const counts = { requests: 0, checked: 0, wrong: 0 };
const checkEach = 100;
const isSigning = new Set(["hmac", "tls", "keyed"]);

function answerWith(type, body) {
  return Buffer.from(`HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
}

function serve(socket) {
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
      const [, bytes] = /^GET \S*\/files\/(\d+) /.exec(head) ?? [];
      socket.write(files.get(bytes) ?? answer);
    }
  });
}

function take(head, text) {
  counts.requests += 1;
  if (counts.requests % checkEach !== 0) return;
  counts.checked += 1;
  const job = /\r\nbench-job: (\w+)/i.exec(head)?.[1];
  // A callback comes without the header of its sender.
  const isCallback = /\r\ncountersign-verified: K/i.test(head);
  const isRight =
    isCallback || isSigning.has(job) ? isSigned(text) : job === "none" || head.includes(`Bearer ${token}`);
  if (!isRight) counts.wrong += 1;
}

const admin = createHttpServer((request, response) => {
  response.setHeader("Content-Type", "application/json");
  if (request.url === "/counts") return response.end(JSON.stringify(counts));
  response.setHeader("Cache-Control", "no-store");
  response.end(JSON.stringify({ access_token: token, token_type: "Bearer", expires_in: 86_400 }));
});

const pem = (name) => readFileSync(new URL(`../../testkit/certificates/${name}.pem`, import.meta.url));
const service = createServer({ noDelay: true }, serve);
const overTls = createTlsServer({ noDelay: true, key: pem("server-key"), cert: pem("server-certificate") }, serve);
const [port, tlsPort, authPort] = await Promise.all(
  [service, overTls, admin].map(async (server) => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    return server.address().port;
  }),
);
process.stdout.write(`${JSON.stringify({ port, tlsPort, authPort })}\n`);
