/** Below a pass-through route bodies pass byte for byte, both ways, with a token, and are not kept in memory. */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { expect, it } from "vitest";
import { chunked } from "../../../testkit/raw-caller.ts";
import { rawAnswer } from "../../../testkit/raw-upstream.ts";
import { rawRequest } from "../../../testkit/stage/pass-through.ts";
import { stage } from "../../../testkit/stage.ts";

it("sends method, path, query, headers and body as they came, with the token in place of the caller's", async () => {
  const { recorder, upstream, send, finished } = await stage("route", rawAnswer(201, "made"));
  const headers = [
    "Content-Type: application/pdf",
    "X-Two: a",
    "x-two: b",
    "Authorization: Bearer of-the-caller",
    "Cookie: a=b",
    "Connection: x-private",
    "X-Private: 1",
    "TE: trailers",
    "Content-Length: 4",
  ];
  const answer = await send("PUT /files/a%20b/c.pdf?q=http://x//y&z={1}", headers, "\x00\xff\r\n");
  expect(answer).toMatchObject({ status: 201, text: "made" });
  expect(answer.headers).toMatchObject({ "countersign-outcome": "answered" });
  const [seen] = upstream.requests;
  expect(seen?.body).toBe("\x00\xff\r\n");
  const [line, ...lines] = seen?.head.split("\r\n") ?? [];
  expect(line).toBe("PUT /json-api/files/a%20b/c.pdf?q=http://x//y&z={1} HTTP/1.1");
  expect(lines.map((each) => each.toLowerCase()).sort()).toEqual([
    "authorization: bearer token_1",
    "connection: keep-alive",
    "content-length: 4",
    "content-type: application/pdf",
    `host: 127.0.0.1:${upstream.port}`,
    "via: 1.1 countersign",
    `x-request-id: ${recorder.of("request_finished")[0]?.requestId}`,
    "x-two: a",
    "x-two: b",
  ]);
  expect(await finished()).toMatchObject({
    operation: "/files/",
    operationLabel: "/files/",
    method: "PUT",
    target: "/files/a…",
    status: 201,
    by: "service",
    outcome: "answered",
    auth: "oauth",
    requestBytes: 4,
    responseBytes: 4,
    attempts: 1,
  });
});

it("streams an upload and a download of 30 MB without keeping them", async () => {
  const bytes = randomBytes(30_000_000);
  const digest = createHash("sha256").update(bytes).digest("hex");
  const { url, finished } = await stage("routeToServer", (incoming, response) => {
    response.writeHead(200);
    incoming.pipe(response);
  });
  const sent = request(`${url}/files/big`, { method: "POST", headers: { "transfer-encoding": "chunked" } });
  const hash = createHash("sha256");
  const answered = once(sent, "response").then(async ([response]) => {
    for await (const piece of response) hash.update(piece);
  });
  sent.end(bytes);
  await answered;
  expect(hash.digest("hex")).toBe(digest);
  expect(await finished()).toMatchObject({ requestBytes: 3e7, responseBytes: 3e7 });
});

it("reads no more of an upload than the service accepts, and gives up when the service accepts nothing for too long", async () => {
  const { caller, finished } = await stage("routeToServer", () => {}, { route: { idleMs: 500 } });
  caller.write(rawRequest("PUT /files/big", ["Content-Length: 100000000"]));
  caller.socket.write(Buffer.alloc(100_000_000));
  expect(await finished()).toMatchObject({
    status: 504,
    code: "upstream_timeout",
    cause: "slow service",
    outcome: "unknown",
  });
  expect(caller.socket.writableLength).toBeGreaterThan(80_000_000);
});

it("passes on each event of a stream as it comes, and ends the stream at the service when the caller leaves", async () => {
  const { caller, service, finished } = await stage("routeToServer", (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
  });
  caller.write(rawRequest("GET /files/events"));
  await caller.until(/text\/event-stream[\s\S]*\r\n\r\n/);
  await caller.leave();
  await service.allClosed();
  expect(await finished()).toMatchObject({ status: 200, by: "service", outcome: "answered", callerLeft: true });
});

it.each(["DELETE", "OPTIONS", "GET"])("frames a chunked body of %s anew", async (method) => {
  const { upstream, send } = await stage("route", { receive: (_, socket) => void socket.write(rawAnswer(200)) });
  const smuggled = "GET /admin HTTP/1.1\r\nHost: x\r\n\r\n";
  const answer = await send(`${method} /files/x`, ["Transfer-Encoding: chunked"], chunked(smuggled));
  expect(answer.status).toBe(200);
  expect(upstream.connections).toBe(1);
});

it("sends no more requests over one connection than keepAlive.requests", async () => {
  const { upstream, send } = await stage(
    "route",
    { answer: rawAnswer(200, "{}") },
    { environment: { requestsPerConnection: 2 } },
  );
  for (let n = 1; n <= 5; n++) {
    expect(await send("GET /files/a")).toMatchObject({ status: 200 });
    expect(upstream.spoken).toBe(Math.ceil(n / 2));
  }
});

it("reads no body behind the head of an answer to HEAD", async () => {
  const head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";
  const { caller, upstream, send } = await stage("route", { answer: [head, rawAnswer(200, "body")] });
  expect(await caller.write(rawRequest("HEAD /files/a")).ended()).toMatch(
    /^HTTP\/1.1 200 [\s\S]*length: 9\r\n[\s\S]*\r\n$/i,
  );
  expect(await send("GET /files/a")).toMatchObject({ status: 200, text: "body" });
  expect(upstream.connections).toBe(1);
});
