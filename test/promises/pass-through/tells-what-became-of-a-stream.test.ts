/** Proves row 76: whichever side breaks off, the other one learns it, the log tells the truth, and the process lives on. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { ask } from "../../../testkit/raw-caller.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { connectRoute, rawRequest, stageRoute, startService } from "./stage.ts";

const put = (bytes: number) => rawRequest("PUT /files/a", [`Content-Length: ${bytes}`]);

it("ends the upload at the service when its caller leaves", async () => {
  const service = await startService((incoming) => void incoming.resume());
  const { caller, recorder } = await connectRoute(service.url);
  caller.write(`${put(1_000)}some`);
  while (service.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
  caller.socket.resetAndDestroy();
  await service.allClosed();
  expect(await recorder.nth("request_finished", 1)).toMatchObject({
    status: 499,
    outcome: "unknown",
    callerLeft: true,
  });
});

it("ends a connection that is being made for a caller who leaves", async () => {
  const sockets: Socket[] = [];
  // It never answers the handshake.
  const upstream = await startRawUpstream({ accept: (socket) => void sockets.push(socket) });
  const baseUrl = upstream.url.replace("http:", "https:");
  const { caller, recorder } = await connectRoute(baseUrl, { timeouts: { connectMs: 4_000 } });
  caller.write(rawRequest("GET /files/a"));
  await upstream.whenConnections(1);
  const leftAtMs = performance.now();
  await caller.leave();
  await Promise.all(sockets.map((socket) => once(socket, "close")));
  expect(performance.now() - leftAtMs).toBeLessThan(2_000);
  expect(await recorder.nth("request_finished", 1)).toMatchObject({ status: 499, outcome: "not_sent" });
});

it("says unknown where the caller leaves before it has anything of the answer", async () => {
  const service = await startService((_, response) =>
    response.writeHead(503, { "content-length": "5" }).flushHeaders(),
  );
  const { caller, recorder } = await connectRoute(service.url);
  caller.write(rawRequest("GET /files/a"));
  while (service.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await caller.leave();
  expect(await recorder.nth("request_finished", 1)).toMatchObject({ callerLeft: true, outcome: "unknown" });
});

it("says unknown where an upload breaks off in the middle", async () => {
  const service = await startService((incoming) => void incoming.resume());
  const { caller, recorder } = await connectRoute(service.url);
  caller.write(`${put(1_000)}some`);
  caller.socket.end();
  expect(await caller.ended()).toMatch(/^HTTP\/1.1 400 [\s\S]*countersign-error: body_incomplete/i);
  expect(await recorder.nth("request_finished", 1)).toMatchObject({ code: "body_incomplete", outcome: "unknown" });
  await service.allClosed();
});

it("says unknown where an upload turns malformed", async () => {
  const service = await startService((incoming) => void incoming.resume());
  const { port } = await stageRoute(service.url);
  const head = rawRequest("PUT /files/a", ["Transfer-Encoding: chunked"]);
  const answer = await ask(port, `${head}4\r\nsome\r\nzz\r\n`);
  expect(answer.headers).toMatchObject({ "countersign-error": "body_incomplete", "countersign-outcome": "unknown" });
  await service.allClosed();
});

it("gives up an upload that stands still", async () => {
  const service = await startService((incoming) => void incoming.resume());
  const { port } = await stageRoute(service.url, { route: { idleMs: 300 } });
  const answer = await ask(port, `${put(1_000)}some`);
  expect(answer).toMatchObject({ status: 408, headers: { "countersign-error": "body_incomplete" } });
  await service.allClosed();
});

it("gives an upload all the time that it takes, as long as it moves", async () => {
  const upstream = await startRawUpstream({ answer: rawAnswer(201) });
  const timeouts = { requestMs: 300, connectMs: 300, tokenMs: 300 };
  const { caller } = await connectRoute(upstream.url, { timeouts });
  caller.write(put(8));
  for (let byte = 0; byte < 8; byte += 1) {
    await new Promise((resolve) => setTimeout(resolve, 80));
    caller.write("x");
  }
  expect(await caller.ended()).toMatch(/^HTTP\/1.1 201 /);
});

it("waits for the answer's head no longer than timeouts.request behind the body", async () => {
  const service = await startService((incoming) => void incoming.resume());
  const timeouts = { requestMs: 1_000, connectMs: 1_000, tokenMs: 1_000 };
  const { port } = await stageRoute(service.url, { timeouts });
  for (const request of [
    `${put(4)}some`,
    rawRequest("GET /files/a"),
    rawRequest("GET /files/a", ["Countersign-Timeout-Ms: 100"]),
  ]) {
    const answer = await ask(port, request);
    expect(answer).toMatchObject({ status: 504, headers: { "countersign-outcome": "unknown" } });
  }
  await service.allClosed();
});

it.each([
  ["is reset", "resetAndDestroy"],
  ["is closed", "destroy"],
] as const)("resets the caller where the answer's connection %s in the middle", async (_, end) => {
  const sockets: Socket[] = [];
  const upstream = await startRawUpstream({
    accept: (socket) => void sockets.push(socket),
    answer: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome",
  });
  const { caller, recorder } = await connectRoute(upstream.url);
  caller.write(rawRequest("GET /files/a"));
  const failed = once(caller.socket, "error");
  await caller.until(/some$/);
  for (const socket of sockets) socket[end]();
  expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
  expect(await recorder.nth("request_finished", 1)).toMatchObject({
    status: 200,
    code: "upstream_reset",
    outcome: "unknown",
  });
});

it.each(["204 No", "304 Same"])("is 502 where a %s has a length that is none, or two", async (status) => {
  for (const lengths of ["Content-Length: x\r\n", "Content-Length: 0\r\nContent-Length: 0\r\n"]) {
    const upstream = await startRawUpstream({
      answer: `HTTP/1.1 ${status}\r\n${lengths}\r\n`,
    });
    const { port } = await stageRoute(upstream.url);
    expect(await ask(port, rawRequest("GET /files/a"))).toMatchObject({
      status: 502,
      headers: { "countersign-error": "upstream_bad_response", "countersign-outcome": "unknown" },
    });
  }
});

it("resets a caller that closes its half in the middle of an answer without a length", async () => {
  const upstream = await startRawUpstream({
    answer: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nsome",
  });
  const { caller } = await connectRoute(upstream.url);
  const failed = once(caller.socket, "error");
  await caller.write(rawRequest("GET /files/a")).until(/some$/);
  caller.socket.end();
  expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
});

it("does not accept a reset as the end of an answer without a length", async () => {
  const sockets: Socket[] = [];
  const upstream = await startRawUpstream({
    accept: (socket) => void sockets.push(socket),
    answer: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nsome",
  });
  const { caller, recorder } = await connectRoute(upstream.url);
  await caller.write(rawRequest("GET /files/a")).until(/some$/);
  for (const socket of sockets) socket.resetAndDestroy();
  await caller.closed;
  expect(await recorder.nth("request_finished", 1)).toMatchObject({ code: "upstream_reset", outcome: "unknown" });
});

it("ends an answer that stands still", async () => {
  const service = await startService((_, response) => void response.writeHead(200).write("some"));
  const { caller, recorder } = await connectRoute(service.url, { route: { idleMs: 300 } });
  await caller.write(rawRequest("GET /files/a")).closed;
  expect(await recorder.nth("request_finished", 1)).toMatchObject({
    code: "upstream_timeout",
    cause: "incomplete answer",
  });
  await service.allClosed();
});

it.each([
  ["nonsense", "SSH-2.0-x\r\n\r\n", "upstream_bad_response"],
  ["another version", "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", "upstream_bad_response"],
  ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "upstream_bad_response"],
  [
    "a switch that nothing asked for",
    "HTTP/1.1 101 Now\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
    "upstream_reset",
  ],
])("answers 502 unknown to %s", async (_, bytes, code) => {
  const upstream = await startRawUpstream({ answer: bytes });
  const { port } = await stageRoute(upstream.url);
  const answer = await ask(port, rawRequest("GET /files/a"));
  expect(answer.headers).toMatchObject({ "countersign-error": code, "countersign-outcome": "unknown" });
});

it("passes on neither side's headers of the connection, nor what could pass for Countersign's", async () => {
  const headers =
    "Keep-Alive: timeout=9\r\nConnection: x-private\r\nX-Private: 1\r\nCountersign-Outcome: not_sent\r\nTrailer: x\r\n";
  const upstream = await startRawUpstream({ answer: rawAnswer(503, "", headers) });
  const { port } = await stageRoute(upstream.url);
  const answer = await ask(port, rawRequest("GET /files/a"));
  expect(answer).toMatchObject({ status: 503, headers: { "countersign-outcome": "answered", connection: "close" } });
  expect(Object.keys(answer.headers)).not.toEqual(expect.arrayContaining(["x-private"]));
  expect(answer.headers["trailer"]).toBeUndefined();
});

it("passes on all of an answer's header lines, however many its head has room for", async () => {
  const lines = Array.from({ length: 1_100 }, (_, n) => `x-${n}: 1\r\n`).join("");
  const upstream = await startRawUpstream({ answer: rawAnswer(200, "", lines) });
  const { port } = await stageRoute(upstream.url);
  const { headers } = await ask(port, rawRequest("GET /files/a"));
  expect(Object.keys(headers).filter((name) => name.startsWith("x-"))).toHaveLength(1_100);
});

it("never reads unexpected bytes as the next answer", async () => {
  const upstream = await startRawUpstream({
    answer: ({ number }, socket) => {
      socket.write(rawAnswer(200, `${number}`));
      if (number === 1) setTimeout(() => socket.write(rawAnswer(200, "poison")), 50);
    },
  });
  const { port } = await stageRoute(upstream.url);
  expect((await ask(port, rawRequest("GET /files/a"))).text).toBe("1");
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect((await ask(port, rawRequest("GET /files/b"))).text).toBe("2");
  expect(upstream.connections).toBe(2);
});

it("uses a connection again, and says unknown where it breaks before an answer", async () => {
  const upstream = await startRawUpstream({
    answer: ({ number }, socket) => void (number < 3 ? socket.write(rawAnswer(200)) : socket.destroy()),
  });
  const { port } = await stageRoute(upstream.url);
  for (let time = 0; time < 2; time += 1) await ask(port, rawRequest("GET /files/a"));
  const answer = await ask(port, rawRequest("GET /files/a"));
  expect(answer.headers).toMatchObject({ "countersign-error": "upstream_reset", "countersign-outcome": "unknown" });
  expect(upstream).toMatchObject({ connections: 1 });
  expect(upstream.requests).toHaveLength(3);
});
