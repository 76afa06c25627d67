/** Proves row 76: streams have limits of their own, outlive a reload, and end with the process, each with a line in the log. */
import { once } from "node:events";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { ask } from "../../testkit/raw-caller.ts";
import { connectRoute, rawRequest, stageRoute, startService } from "../promises/pass-through/stage.ts";

const timeouts = { requestMs: 2_000, tokenMs: 2_000 };
const streaming = (_: unknown, response: import("node:http").ServerResponse) =>
  void response.writeHead(200, { "content-type": "text/event-stream" }).write("some");

it("cuts a stream when the time of open requests has run out, and says so", async () => {
  const service = await startService(streaming);
  const { caller, proxy, recorder } = await connectRoute(service.url, { timeouts });
  caller.write(rawRequest("GET /files/a"));
  await caller.until(/some/);
  const failed = once(caller.socket, "error");
  await proxy.stop("SIGTERM");
  expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
  expect(recorder.of("request_finished")).toMatchObject([
    { status: 200, code: "upstream_timeout", cause: "shutdown", outcome: "unknown" },
  ]);
  await service.allClosed();
});

it("cuts the stream of a caller that reads nothing, too, and says so", async () => {
  const service = await startService((_, response) => void response.writeHead(200).write("a".repeat(16_777_216)));
  const { port, proxy, recorder } = await stageRoute(service.url, { timeouts });
  const caller = connect(port, "127.0.0.1");
  caller.write(rawRequest("GET /files/a"));
  await once(caller, "data");
  caller.pause();
  await proxy.stop("SIGTERM");
  expect(recorder.of("request_finished")).toMatchObject([
    { status: 200, code: "upstream_timeout", cause: "shutdown", outcome: "unknown" },
  ]);
  caller.destroy();
});

it("lets a stream end by itself while it drains", async () => {
  const service = await startService((_, response) => {
    response.writeHead(200).write("some");
    setTimeout(() => response.end("more"), 200);
  });
  const { caller, proxy, recorder } = await connectRoute(service.url);
  caller.write(rawRequest("GET /files/a"));
  await caller.until(/some/);
  expect(await proxy.stop("SIGTERM")).toBe(true);
  expect(await caller.ended()).toMatch(/more\r\n0\r\n\r\n$/);
  expect(recorder.of("request_finished")).toMatchObject([{ outcome: "answered", code: undefined }]);
});

it("lets a stream continue after a reload that removes its route", async () => {
  const service = await startService((_, response) => {
    response.writeHead(200).write("some");
    response.socket?.on("more", () => response.end("more"));
  });
  const { caller, port, proxy, config } = await connectRoute(service.url);
  caller.write(rawRequest("GET /files/a"));
  await caller.until(/some/);
  const sandbox = config.environments.get("sandbox") ?? expect.unreachable();
  const environments = new Map([["sandbox", { ...sandbox, passThrough: undefined }]]);
  await proxy.apply({ ...config, environments }, "sighup");
  expect((await ask(port, rawRequest("GET /files/b"))).status).toBe(405);
  for (const socket of service.open) socket.emit("more");
  expect(await caller.ended()).toMatch(/more\r\n0\r\n\r\n$/);
});

it("accepts no more streams than the limit, and streams take no place of operations", async () => {
  const service = await startService((request, response) => {
    if (request.method === "GET") streaming(request, response);
    else response.writeHead(200, { "content-length": "0" }).end();
  });
  const { caller, port, adminUrl } = await connectRoute(service.url, { limits: { inFlightPerEnvironment: 1 } });
  caller.write(rawRequest("GET /files/a"));
  await caller.until(/some/);
  const second = await ask(port, rawRequest("GET /files/b"));
  expect(second).toMatchObject({ status: 503, headers: { "countersign-error": "overloaded" } });
  expect((await ask(port, {})).status).toBe(200);
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
  expect(metrics).toMatch(/countersign_requests_in_flight\{environment="sandbox"\} 1\n/);
  expect(metrics).toMatch(/countersign_requests_total\{[^}]*operation="\/files\/",status="503"[^}]*\} 1\n/);
  expect(metrics).toMatch(/countersign_request_duration_seconds_count\{[^}]*operation="\/files\/"\} 1\n/);
});
