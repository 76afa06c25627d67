/** If either side breaks off, the other side sees it, the log is true, and the process continues to serve. */
import { once } from "node:events";
import type { RequestListener } from "node:http";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { ask } from "../../../testkit/raw-caller.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { rawRequest } from "../../../testkit/stage/pass-through.ts";
import { stage } from "../../../testkit/stage.ts";

const put = (bytes: number) => rawRequest("PUT /files/a", [`Content-Length: ${bytes}`]);

it("ends the upload at the service when its caller leaves", async () => {
  const { caller, service, finished } = await stage("routeToServer", (incoming) => void incoming.resume());
  caller.write(`${put(1_000)}some`);
  await service.whenAsked();
  caller.socket.resetAndDestroy();
  await service.allClosed();
  expect(await finished()).toMatchObject({ status: 499, outcome: "unknown", callerLeft: true });
});

it("ends a connection that is being made for a caller who leaves", async () => {
  const sockets: Socket[] = [];
  // A service that never answers the handshake.
  const upstream = await startRawUpstream({ accept: (socket) => void sockets.push(socket) });
  const baseUrl = upstream.url.replace("http:", "https:");
  const { caller, finished } = await stage("routeTo", baseUrl, { timeouts: { connectMs: 4_000 } });
  caller.write(rawRequest("GET /files/a"));
  await upstream.whenConnections(1);
  const leftAtMs = performance.now();
  await caller.leave();
  await Promise.all(sockets.map((socket) => once(socket, "close")));
  expect(performance.now() - leftAtMs).toBeLessThan(2_000);
  expect(await finished()).toMatchObject({ status: 499, outcome: "not_sent" });
});

it("says unknown if the caller leaves before the answer begins", async () => {
  const { caller, service, finished } = await stage("routeToServer", (_, response) =>
    response.writeHead(503, { "content-length": "5" }).flushHeaders(),
  );
  caller.write(rawRequest("GET /files/a"));
  await service.whenAsked();
  await caller.leave();
  expect(await finished()).toMatchObject({ callerLeft: true, outcome: "unknown" });
});

it("says unknown if an upload breaks off in the middle", async () => {
  const { caller, service, finished } = await stage("routeToServer", (incoming) => void incoming.resume());
  caller.write(`${put(1_000)}some`);
  caller.socket.end();
  expect(await caller.ended()).toMatch(/^HTTP\/1.1 400 [\s\S]*countersign-error: body_incomplete/i);
  expect(await finished()).toMatchObject({ code: "body_incomplete", outcome: "unknown" });
  await service.allClosed();
});

it("says unknown if an upload becomes malformed", async () => {
  const { port, service } = await stage("routeToServer", (incoming) => void incoming.resume());
  const head = rawRequest("PUT /files/a", ["Transfer-Encoding: chunked"]);
  const answer = await ask(port, `${head}4\r\nsome\r\nzz\r\n`);
  expect(answer.headers).toMatchObject({ "countersign-error": "body_incomplete", "countersign-outcome": "unknown" });
  await service.allClosed();
});

it("gives up an upload that stops", async () => {
  const { port, service } = await stage("routeToServer", (incoming) => void incoming.resume(), {
    route: { idleMs: 300 },
  });
  const answer = await ask(port, `${put(1_000)}some`);
  expect(answer).toMatchObject({ status: 408, headers: { "countersign-error": "body_incomplete" } });
  await service.allClosed();
});

it("gives an upload all the time that it needs, as long as it makes progress", async () => {
  const timeouts = { requestMs: 300, connectMs: 300, tokenMs: 300 };
  const { caller } = await stage("route", rawAnswer(201), { timeouts });
  caller.write(put(8));
  for (let byte = 0; byte < 8; byte += 1) {
    await new Promise((resolve) => setTimeout(resolve, 80));
    caller.write("x");
  }
  expect(await caller.ended()).toMatch(/^HTTP\/1.1 201 /);
});

it("waits for the answer's head no longer than timeouts.request after the end of the body", async () => {
  const timeouts = { requestMs: 1_000, connectMs: 1_000, tokenMs: 1_000 };
  const { port, service } = await stage("routeToServer", (incoming) => void incoming.resume(), { timeouts });
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

it("resets a caller that closes its half in the middle of an answer without a length", async () => {
  const { caller } = await stage("route", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nsome");
  const failed = once(caller.socket, "error");
  await caller.write(rawRequest("GET /files/a")).until(/some$/);
  caller.socket.end();
  expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
});

const [ofLength, untilClose] = ["Content-Length: 100", "Connection: close"];

const noLength = "Content-Length: x\r\n";
const equalLengths = "Content-Length: 0\r\nContent-Length: 0\r\n";
const unaskedSwitch = "HTTP/1.1 101 Now\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n";

const upload: Parameters<typeof rawRequest> = ["PUT /files/a", ["Content-Length: 1"], "x"];

describe.each<[string, isNode: boolean, request: Parameters<typeof rawRequest>]>([
  ["our own client", false, ["GET /files/a"]],
  ["http-proxy and Node's client", true, upload],
])("%s", (_, isNode, request) => {
  it.each([
    ["is reset", ofLength, "resetAndDestroy"],
    ["is closed", ofLength, "destroy"],
    ["is reset, without a length or chunks,", untilClose, "resetAndDestroy"],
  ] as const)("resets the caller if the answer's connection %s in the middle", async (_, framing, end) => {
    const sockets: Socket[] = [];
    const { caller, finished } = await stage("route", {
      accept: (socket) => void sockets.push(socket),
      answer: `HTTP/1.1 200 OK\r\n${framing}\r\n\r\nsome`,
    });
    caller.write(rawRequest(...request));
    const failed = once(caller.socket, "error");
    await caller.until(/some$/);
    for (const socket of sockets) socket[end]();
    expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
    expect(await finished()).toMatchObject({ status: 200, code: "upstream_reset", outcome: "unknown" });
  });

  it("ends an answer that stops", async () => {
    const serve: RequestListener = (_, response) => void response.writeHead(200).write("some");
    const { caller, service, finished } = await stage("routeToServer", serve, { route: { idleMs: 300 } });
    await caller.write(rawRequest(...request)).closed;
    expect(await finished()).toMatchObject({ code: "upstream_timeout", cause: "incomplete answer" });
    await service.allClosed();
  });

  it.each([
    ["nonsense", "SSH-2.0-x\r\n\r\n"],
    ["another version", "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"],
    ["a 204 with a malformed length", `HTTP/1.1 204 No\r\n${noLength}\r\n`],
    ["a 204 with two lengths", `HTTP/1.1 204 No\r\n${equalLengths}\r\n`],
    ["a 304 with a malformed length", `HTTP/1.1 304 Same\r\n${noLength}\r\n`],
    ["a 304 with two lengths", `HTTP/1.1 304 Same\r\n${equalLengths}\r\n`],
    ["a status below 200", "HTTP/1.1 099 Odd\r\nTransfer-Encoding: chunked\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
    ["a switch without a request for it", unaskedSwitch],
  ])("answers 502 unknown to %s", async (_, bytes) => {
    // No answer waits for the rest of such a body.
    const { send } = await stage("route", { answer: bytes }, { route: { idleMs: 3_600_000 } });
    const answer = await send(...request);
    // Node waits for an answer behind this one.
    const code = isNode && bytes === unaskedSwitch ? "upstream_reset" : "upstream_bad_response";
    const headers = { "countersign-error": code, "countersign-outcome": "unknown" };
    expect(answer).toMatchObject({ status: 502, headers });
  });
});

it("passes on neither side's headers of the connection, nor headers in Countersign's name", async () => {
  const headers =
    "Keep-Alive: timeout=9\r\nConnection: x-private\r\nX-Private: 1\r\nCountersign-Outcome: not_sent\r\nTrailer: x\r\n";
  const { send } = await stage("route", rawAnswer(503, "", headers));
  const answer = await send("GET /files/a");
  expect(answer).toMatchObject({ status: 503, headers: { "countersign-outcome": "answered", connection: "close" } });
  expect(Object.keys(answer.headers)).not.toEqual(expect.arrayContaining(["x-private"]));
  expect(answer.headers["trailer"]).toBeUndefined();
});

it("passes on all of an answer's header lines, as many as fit into a head", async () => {
  const lines = Array.from({ length: 1_100 }, (_, n) => `x-${n}: 1\r\n`).join("");
  const { send } = await stage("route", rawAnswer(200, "", lines));
  const { headers } = await send("GET /files/a");
  expect(Object.keys(headers).filter((name) => name.startsWith("x-"))).toHaveLength(1_100);
});

it("never reads unexpected bytes as the next answer", async () => {
  const { upstream, send } = await stage("route", {
    answer: ({ number }, socket) => {
      socket.write(rawAnswer(200, `${number}`));
      if (number === 1) setTimeout(() => socket.write(rawAnswer(200, "poison")), 50);
    },
  });
  expect((await send("GET /files/a")).text).toBe("1");
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect((await send("GET /files/b")).text).toBe("2");
  expect(upstream.connections).toBe(2);
});

it("uses a connection again, and says unknown if it breaks before an answer", async () => {
  const { upstream, send } = await stage("route", {
    answer: ({ number }, socket) => void (number < 3 ? socket.write(rawAnswer(200)) : socket.destroy()),
  });
  for (let time = 0; time < 2; time += 1) await send("GET /files/a");
  const answer = await send("GET /files/a");
  expect(answer.headers).toMatchObject({ "countersign-error": "upstream_reset", "countersign-outcome": "unknown" });
  expect(upstream).toMatchObject({ connections: 1 });
  expect(upstream.requests).toHaveLength(3);
});
