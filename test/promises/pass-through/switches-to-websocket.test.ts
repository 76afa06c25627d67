/** A WebSocket passes both ways until either side ends it, and ends on both sides together. */
import { EventEmitter, once } from "node:events";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { RawConnection } from "../../../testkit/raw-caller.ts";
import { rawAnswer } from "../../../testkit/raw-upstream.ts";
import { asking, handshake, rawRequest } from "../../../testkit/stage/pass-through.ts";
import { stage } from "../../../testkit/stage.ts";

it("switches, and passes bytes both ways", async () => {
  const { caller, finished } = await stage("webSocket", (socket) => socket.write("hello") && socket.pipe(socket));
  const head = await caller.until(/hello$/);
  expect(head).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
  expect(head).toMatch(/\r\nupgrade: websocket\r\n/i);
  expect(head).toMatch(/\r\nsec-websocket-accept: /i);
  expect(head).toMatch(/\r\ncountersign-request-id: /i);
  await caller.write("and back").until(/and back$/);
  caller.socket.end();
  expect(await finished()).toMatchObject({
    status: 101,
    by: "service",
    outcome: "answered",
    requestBytes: 8,
    responseBytes: 13,
  });
});

it("ends the caller's side when the service ends its own", async () => {
  const { caller, finished } = await stage("webSocket", (socket) => socket.end("bye"));
  expect(await caller.ended()).toMatch(/bye$/);
  caller.socket.end();
  expect(await finished()).toMatchObject({ status: 101, outcome: "answered" });
});

it("ends the service's side when the caller is gone", async () => {
  const gone = new EventEmitter();
  const { caller, finished } = await stage("webSocket", (socket) => {
    socket.resume().on("end", () => gone.emit("gone"));
    socket.write("hello");
  });
  await caller.until(/hello$/);
  const ended = once(gone, "gone");
  caller.socket.resetAndDestroy();
  await ended;
  expect(await finished()).toMatchObject({ status: 101, outcome: "answered" });
});

it("cuts a WebSocket when the time of open requests has run out, and logs why, as for any stream", async () => {
  const timeouts = { requestMs: 2_000, tokenMs: 2_000 };
  const { caller, proxy, recorder } = await stage("webSocket", (socket) => socket.write("hello"), { timeouts });
  await caller.until(/hello$/);
  const failed = once(caller.socket, "error");
  await proxy.stop("SIGTERM");
  expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
  expect(recorder.of("request_finished")).toMatchObject([
    { status: 101, code: "upstream_timeout", cause: "shutdown", outcome: "unknown" },
  ]);
});

it("resets the caller when the service resets, and says so", async () => {
  const { caller, sockets, finished } = await stage("webSocket", (socket) => socket.write("hello"));
  await caller.until(/hello$/);
  const failed = once(caller.socket, "error");
  (sockets[0] as Socket).resetAndDestroy();
  expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
  expect(await finished()).toMatchObject({ status: 101, outcome: "unknown", code: "upstream_reset" });
});

it("closes a WebSocket on which nothing passes for idleTimeout orderly, on both sides", async () => {
  const ends = new EventEmitter();
  const talk = (socket: Duplex) => {
    socket.on("error", (error) => ends.emit("service", error));
    socket.resume().on("end", () => ends.emit("service", "end"));
    socket.write("hello");
  };
  const { caller, finished } = await stage("webSocket", talk, { route: { idleMs: 300 } });
  const atService = once(ends, "service");
  await caller.until(/hello$/);
  // After a reset this would reject.
  await once(caller.socket, "end");
  expect(await atService).toEqual(["end"]);
  caller.socket.end();
  expect(await finished()).toMatchObject({ outcome: "answered", cause: "idle" });
});

it("ends a WebSocket on which nothing has passed, though neither side closes its own half", async () => {
  const { caller, finished } = await stage("webSocket", () => {}, { route: { idleMs: 300 } });
  await caller.until(/^HTTP\/1\.1 101 .*\r\n\r\n$/s);
  expect(await finished()).toMatchObject({ outcome: "answered", cause: "idle" });
});

it("answers 502 when the service resets before it has switched, and continues to serve", async () => {
  const { port } = await stage("route", { receive: (_, socket) => void socket.resetAndDestroy() });
  for (let time = 0; time < 2; time += 1) {
    const caller = await RawConnection.open(port);
    expect(await caller.write(handshake).ended()).toMatch(/^HTTP\/1.1 502 [\s\S]*outcome: unknown/i);
  }
});

it("an answer that does not switch is passed on like any other, with its framing", async () => {
  const chunks = "HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n";
  const { caller } = await stage("route", { answer: chunks });
  expect(await caller.write(handshake).ended()).toMatch(/^HTTP\/1.1 403 [\s\S]*\r\n\r\n2\r\nno\r\n0\r\n\r\n$/);
});

it("retries a handshake that is answered 401 with a new token", async () => {
  const { caller } = await stage("route", {
    answer: [rawAnswer(401), "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello"],
  });
  await caller.write(handshake).until(/^HTTP\/1.1 101 [\s\S]*hello$/);
});

it("refuses to switch if the caller sends bytes before the switch", async () => {
  const { caller, finished } = await stage("webSocket", (socket) => socket.write("hello"));
  caller.write("too soon");
  expect(await caller.ended()).toMatch(/^HTTP\/1.1 400 [\s\S]*body_incomplete/);
  expect(await finished()).toMatchObject({ code: "body_incomplete", outcome: "unknown" });
});

it.each([
  ["another protocol", "Upgrade: h2c\r\nConnection: Upgrade\r\n"],
  ["none", ""],
])("treats a switch to %s as a bad answer, and does not use its connection again", async (_, lines) => {
  const { caller, port, upstream, finished } = await stage("route", {
    answer: [`HTTP/1.1 101 Switching Protocols\r\n${lines}\r\n`, rawAnswer(200)],
  });
  expect(await caller.write(handshake).ended()).toMatch(/^HTTP\/1.1 502 [\s\S]*upstream_bad_response/);
  expect(await finished()).toMatchObject({ code: "upstream_bad_response", outcome: "unknown" });
  const next = await RawConnection.open(port);
  expect(await next.write(rawRequest("GET /files/a", ["Connection: close"])).ended()).toMatch(/^HTTP\/1.1 200 /);
  expect(upstream.connections).toBe(2);
});

it("does not ask the service to switch if the route has no upgrade", async () => {
  const { caller, upstream } = await stage("route", rawAnswer(426), { route: { upgrade: undefined } });
  expect(await caller.write(rawRequest("GET /files/live", asking)).ended()).toMatch(/^HTTP\/1.1 426 /);
  expect(upstream.requests[0]?.head).not.toMatch(/^upgrade:/im);
});
