/** Row 50: stopping lets every accepted request finish, tells callers to close, and cuts only connections that outstay all deadlines. */
import { expect, it } from "vitest";
import { call, get, order } from "../../../testkit/call.ts";
import { keepAlive } from "../../../testkit/keep-alive.ts";
import { RawConnection, readAnswers } from "../../../testkit/raw-caller.ts";
import { settlesSoon } from "../../../testkit/settles-soon.ts";
import { hmacSite, stageProxy } from "../../../testkit/stage.ts";

const signed = { "Countersign-Site": hmacSite };
const head = "POST /create_order HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

it("lets an open request finish, with its connection, and accepts no new connections", async () => {
  const { url, adminUrl, simulator, proxy, recorder } = await stageProxy();
  const hang = simulator.faults.add({ host: "api", kind: "hang" });
  const answer = call(url, order, { agent: keepAlive(1), headers: signed });
  await hang.whenPlayed(1);
  const stopped = proxy.stop("SIGTERM");
  expect(await settlesSoon(stopped, adminUrl)).toBe(false);
  await expect(call(url)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  // The process is not ready, but alive, and can still be scraped.
  expect(await get(adminUrl, "/readyz")).toMatchObject({ status: 503, text: "draining\n" });
  for (const path of ["/livez", "/metrics"]) expect((await get(adminUrl, path)).status).toBe(200);
  hang.release();
  const { status, headers } = await answer;
  expect({ status, connection: headers.connection }).toEqual({ status: 200, connection: "close" });
  expect(await stopped).toBe(true);
  expect(recorder.of("draining")).toEqual([{ kind: "draining", signal: "SIGTERM", inFlight: 1 }]);
  expect(recorder.of("stopped")).toEqual([{ kind: "stopped", drained: true }]);
});

it("closes kept-alive connections that are idle", async () => {
  const { url, port, proxy } = await stageProxy();
  await call(url, order, { agent: keepAlive(1), headers: signed });
  const unused = await RawConnection.open(port);
  const startedMs = performance.now();
  expect(await proxy.stop("SIGTERM")).toBe(true);
  await unused.ended();
  expect(performance.now() - startedMs).toBeLessThan(10_000);
});

it("cuts a connection that outstays the deadline and two seconds, not before, and says so", async () => {
  const stage = await stageProxy();
  // Every request ends by its deadline; a head that is not complete may last longer.
  const stalled = (await RawConnection.open(stage.port)).write(head);
  await get(stage.adminUrl, "/livez");
  const stopped = stage.proxy.stop("SIGTERM");
  const { requestMs } = stage.config.timeouts;
  stage.clock.push(requestMs + 1_000);
  expect(await settlesSoon(stopped, stage.adminUrl)).toBe(false);
  stage.clock.push(1_000);
  expect(await stopped).toBe(false);
  expect(stage.recorder.of("stopped")).toEqual([{ kind: "stopped", drained: false }]);
  await stalled.ended();
});

it("answers late requests 503 draining once the time for open requests is up", async () => {
  const { clock, port, proxy, adminUrl, simulator, config } = await stageProxy();
  const late = (await RawConnection.open(port)).write(head);
  await get(adminUrl, "/livez");
  const stopped = proxy.stop("SIGTERM");
  clock.push(config.timeouts.requestMs + 500);
  expect(await settlesSoon(stopped, adminUrl)).toBe(false);
  late.write("Content-Length: 2\r\n\r\n{}");
  const told = { "countersign-error": "draining", connection: "close", "retry-after": "1" };
  expect(readAnswers(await late.ended())).toMatchObject([{ status: 503, headers: told }]);
  late.socket.end();
  expect(await stopped).toBe(true);
  expect(simulator.counts().apiRequests).toBe(0);
});

it("with drain.min continues to serve for that long, though it is no longer ready", async () => {
  const { clock, url, adminUrl, proxy } = await stageProxy({ config: { drain: { minMs: 60_000 } } });
  const stopped = proxy.stop("SIGTERM");
  expect((await get(adminUrl, "/readyz")).status).toBe(503);
  expect((await call(url, order, { headers: signed })).status).toBe(200);
  clock.push(30_000);
  expect((await call(url, order, { headers: signed })).status).toBe(200);
  clock.push(30_000);
  expect(await stopped).toBe(true);
  await expect(call(url)).rejects.toMatchObject({ code: "ECONNREFUSED" });
});
