/** Streams have limits of their own, outlive a reload, and end with the process, each with a line in the log. */
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { ask } from "../../testkit/raw-caller.ts";
import { rawRequest } from "../../testkit/stage/pass-through.ts";
import { stage } from "../../testkit/stage.ts";

const timeouts = { requestMs: 2_000, tokenMs: 2_000 };
const cut = { status: 200, code: "upstream_timeout", cause: "shutdown", outcome: "unknown" };
const streaming: RequestListener = (_, response) =>
  void response.writeHead(200, { "content-type": "text/event-stream" }).write("some");

it("cuts a stream when the time of open requests has run out, and says so", async () => {
  const { caller, proxy, service, finished } = await stage("routeToServer", streaming, { timeouts });
  caller.write(rawRequest("GET /files/a"));
  await caller.until(/some/);
  const failed = once(caller.socket, "error");
  await proxy.stop("SIGTERM");
  expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
  expect(await finished()).toMatchObject(cut);
  await service.allClosed();
});

it("cuts the stream of a caller that reads nothing, too, and says so", async () => {
  const serve: RequestListener = (_, response) => void response.writeHead(200).write("a".repeat(16_777_216));
  const { port, proxy, finished } = await stage("routeToServer", serve, { timeouts });
  const caller = connect(port, "127.0.0.1");
  caller.write(rawRequest("GET /files/a"));
  await once(caller, "data");
  caller.pause();
  await proxy.stop("SIGTERM");
  expect(await finished()).toMatchObject(cut);
  caller.destroy();
});

it("lets a stream end by itself while it drains", async () => {
  const { caller, proxy, finished } = await stage("routeToServer", (_, response) => {
    response.writeHead(200).write("some");
    setTimeout(() => response.end("more"), 200);
  });
  caller.write(rawRequest("GET /files/a"));
  await caller.until(/some/);
  expect(await proxy.stop("SIGTERM")).toBe(true);
  expect(await caller.ended()).toMatch(/more\r\n0\r\n\r\n$/);
  expect(await finished()).toMatchObject({ outcome: "answered", code: undefined });
});

it("lets a stream continue after a reload that removes its route", async () => {
  const { caller, port, service, config, reload } = await stage("routeToServer", (_, response) => {
    response.writeHead(200).write("some");
    response.socket?.on("more", () => response.end("more"));
  });
  caller.write(rawRequest("GET /files/a"));
  await caller.until(/some/);
  const sandbox = config.environments.get("sandbox") ?? expect.unreachable();
  await reload({ environments: new Map([["sandbox", { ...sandbox, passThrough: undefined }]]) });
  expect((await ask(port, rawRequest("GET /files/b"))).status).toBe(405);
  for (const socket of service.open) socket.emit("more");
  expect(await caller.ended()).toMatch(/more\r\n0\r\n\r\n$/);
});

it("accepts no more streams than the limit, and streams take no place of operations", async () => {
  const serve: RequestListener = (request, response) => {
    if (request.method === "GET") streaming(request, response);
    else response.writeHead(200, { "content-length": "0" }).end();
  };
  const { caller, port, adminUrl } = await stage("routeToServer", serve, { limits: { inFlightPerEnvironment: 1 } });
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
