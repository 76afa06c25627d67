/** http-proxy 1.18.1 alone has these faults, a pass-through route does not. */
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import httpProxy from "http-proxy";
import { describe, expect, it } from "vitest";
import { listen } from "../../../testkit/listen.ts";
import { chunked, RawConnection, sendRaw } from "../../../testkit/raw-caller.ts";
import { rawAnswer, startRawUpstream } from "../../../testkit/raw-upstream.ts";
import { plainEnvironment, startProgram } from "../../../testkit/run-program.ts";
import { rawRequest, startService } from "../../../testkit/stage/pass-through.ts";
import { stage } from "../../../testkit/stage.ts";

describe.each([
  ["http-proxy alone has the fault that", startAlone, true],
  ["a pass-through route does not have the fault that", startRoute, false],
] as const)("%s", (_, start, isAlone) => {
  it("the body of a chunked DELETE is smuggled", async () => {
    const service = await startService((request, response) => {
      request.resume().on("end", () => response.end());
    });
    const { port } = await start(service.url);
    const smuggled = "GET /files/smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    const head = rawRequest("DELETE /files/a", ["Transfer-Encoding: chunked"]);
    await sendRaw(port, `${head}${chunked(smuggled)}`);
    const framing = service.requests.map(
      ({ headers }) => headers["transfer-encoding"] ?? `${headers["content-length"]}`,
    );
    expect(framing).toEqual([isAlone ? "0" : "chunked"]);
  });

  it("a request runs on at the service after its caller has left", async () => {
    const service = await startService(() => {});
    const { port } = await start(service.url);
    const caller = await RawConnection.open(port);
    caller.write(rawRequest("GET /files/a"));
    await service.whenAsked();
    await caller.leave();
    const isEnded = await Promise.race([service.allClosed().then(() => true), delay(300).then(() => false)]);
    expect(isEnded).toBe(!isAlone);
  });

  it("a caller waits for the rest of a cut answer", async () => {
    const upstream = await startRawUpstream({
      answer: (_, socket) =>
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome", () => delay(50).then(() => socket.destroy())),
    });
    const { port } = await start(upstream.url);
    const caller = await RawConnection.open(port);
    await caller.write(rawRequest("GET /files/a")).until(/some$/);
    expect(await Promise.race([caller.closed.then(() => true), delay(400).then(() => false)])).toBe(!isAlone);
  });

  it("a request with Expect gets no token", async () => {
    let head = "";
    const service = await startService((request, response) => {
      head = String(request.headers.authorization);
      response.end();
    });
    const { port } = await start(service.url);
    await sendRaw(port, rawRequest("PUT /files/a", ["Content-Length: 1", "Expect: 100-continue"], "x"));
    expect(head).toBe(isAlone ? "undefined" : "Bearer token_1");
  });

  it("headers of the connection pass", async () => {
    const upstream = await startRawUpstream({
      answer: rawAnswer(200, "", "Proxy-Authenticate: Basic\r\nUpgrade: x\r\n"),
    });
    const { port } = await start(upstream.url);
    const lines = ["TE: trailers", "Proxy-Authorization: Basic eDp5", "Keep-Alive: 5"];
    const answer = await sendRaw(port, rawRequest("GET /files/a", lines));
    expect(/proxy-authorization|^te:|keep-alive: 5/im.test(upstream.requests[0]?.head ?? "")).toBe(isAlone);
    expect(/proxy-authenticate|upgrade: x/i.test(answer)).toBe(isAlone);
  });

  it("a path is changed", async () => {
    const upstream = await startRawUpstream({ answer: rawAnswer(200) });
    const { port, base } = await start(upstream.url);
    for (const path of ["/files/a?b=|c", "/files//a"]) await sendRaw(port, rawRequest(`GET ${path}`));
    const asked = upstream.requests.map(({ head }) => head.split(" ")[1]);
    // The route refuses the path that could be read in two ways.
    expect(asked).toEqual(isAlone ? ["/files/a?b=|c", "/files/a"] : [`${base}/a?b=|c`]);
  });
});

/** http-proxy alone before this service, in a process of its own; `serve` is its code, in which `proxy` and `server` are known. */
async function startProcess(url: string, serve: string) {
  const script = `
    const proxy = require("http-proxy").createProxyServer({ target: ${JSON.stringify(url)} });
    const server = require("node:http").createServer();
    ${serve}
    server.listen(0, "127.0.0.1", () => console.log(server.address().port));`;
  const program = startProgram(process.execPath, ["-e", script], plainEnvironment());
  const port = Number(await program.line((line) => /^\d+$/.test(line)));
  return { ended: program.ended, caller: await RawConnection.open(port) };
}

it("http-proxy alone ends its process when a WebSocket is reset before it has switched", async () => {
  const upstream = await startRawUpstream({ receive: (_, socket) => void socket.resetAndDestroy() });
  const { caller, ended } = await startProcess(upstream.url, 'server.on("upgrade", (...given) => proxy.ws(...given));');
  caller.write(rawRequest("GET /files/a", ["Upgrade: websocket"]).replace("Connection: close", "Connection: Upgrade"));
  expect(await ended).not.toBe(0);
});

/** Answers with a part, and resets on demand, while the request's body still comes. */
async function breaksLate() {
  const sockets: Socket[] = [];
  const { url } = await startRawUpstream({
    accept: (socket) => void sockets.push(socket),
    receive: (_, socket) => void socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome"),
  });
  const reset = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return { url, reset };
}
const upload = rawRequest("PUT /files/a", ["Content-Length: 1000000"], "x");

it("http-proxy alone ends its process at an error behind the head of an answer, with a handler as its page has it", async () => {
  const upstream = await breaksLate();
  const { caller, ended } = await startProcess(
    upstream.url,
    `proxy.on("error", (error, request, response) => { response.writeHead(502); response.end(); });
    server.on("request", (request, response) => proxy.web(request, response));`,
  );
  await caller.write(upload).until(/some$/);
  upstream.reset();
  expect(await ended).not.toBe(0);
});

it("a pass-through route survives an error behind the head of an answer, and tells its caller", async () => {
  const upstream = await breaksLate();
  const { caller, recorder, finished } = await stage("routeTo", upstream.url);
  await caller.write(upload).until(/some$/);
  upstream.reset();
  await caller.closed;
  expect(await finished()).toMatchObject({ status: 200, outcome: "unknown" });
  expect(recorder.of("defect")).toEqual([]);
});

interface Proxy {
  readonly port: number;
  /** The path at the service of `/files/`. */
  readonly base: string;
}

async function startAlone(url: string): Promise<Proxy> {
  const proxy = httpProxy.createProxyServer({ target: url });
  proxy.on("error", (_, __, response) => response.end());
  proxy.on("proxyReq", (request) => request.setHeader("authorization", "Bearer token_1"));
  const server = createServer((request, response) => proxy.web(request, response));
  return { port: await listen(server), base: "/files" };
}

async function startRoute(url: string): Promise<Proxy> {
  return {
    port: (await stage("routeTo", url)).port,
    base: "/json-api/files",
  };
}
