/** Stopping lets every accepted request finish, tells callers to close, and cuts only connections that outstay all deadlines. */
import { expect, it } from "vitest";
import { call, get, order } from "../../../testkit/call.ts";
import { keepAlive } from "../../../testkit/keep-alive.ts";
import { RawConnection, readAnswers } from "../../../testkit/raw-caller.ts";
import { settlesSoon } from "../../../testkit/settles-soon.ts";
import { hmacSite, stage } from "../../../testkit/stage.ts";

const signed = { "Countersign-Site": hmacSite };
const head = "POST /create_order HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

it("lets an open request finish, with its connection, and accepts no new connections", async () => {
  const { url, adminUrl, simulator, proxy, recorder } = await stage();
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
  const { url, port, proxy } = await stage();
  await call(url, order, { agent: keepAlive(1), headers: signed });
  const unused = await RawConnection.open(port);
  const startedMs = performance.now();
  expect(await proxy.stop("SIGTERM")).toBe(true);
  await unused.ended();
  expect(performance.now() - startedMs).toBeLessThan(10_000);
});

it("refuses a request whose head is not complete when the time is up", async () => {
  const { clock, port, proxy, adminUrl, simulator, config } = await stage();
  const stalled = (await RawConnection.open(port)).write(head);
  await get(adminUrl, "/livez");
  const stopped = proxy.stop("SIGTERM");
  clock.push(config.timeouts.requestMs - 100);
  expect(await settlesSoon(stopped, adminUrl)).toBe(false);
  clock.push(200);
  // The rest of a request has another half second.
  expect(await settlesSoon(stopped, adminUrl)).toBe(false);
  clock.push(1_000);
  const told = { "countersign-error": "draining", "countersign-outcome": "not_sent", connection: "close" };
  expect(readAnswers(await stalled.ended())).toMatchObject([{ status: 503, headers: told }]);
  stalled.socket.end();
  expect(await stopped).toBe(true);
  expect(simulator.counts().apiRequests).toBe(0);
});

it("cuts a connection that outstays the deadline and two seconds, not before, and says so", async () => {
  const { clock, port, proxy, adminUrl, recorder, config } = await stage();
  const refused = (await RawConnection.open(port)).write("POST /no_such_operation");
  await get(adminUrl, "/livez");
  const stopped = proxy.stop("SIGTERM");
  clock.push(config.timeouts.requestMs - 100);
  // The rest of a refused body is read for 5 s, if it keeps coming.
  await refused
    .write(head.slice(head.indexOf(" HTTP")))
    .write("Content-Length: 200000\r\n\r\n")
    .until(/403 /);
  for (const ms of [200, 1_000]) {
    clock.push(ms);
    await settlesSoon(stopped, adminUrl);
    refused.write("x");
    expect(await settlesSoon(stopped, adminUrl)).toBe(false);
  }
  clock.push(2_500);
  expect(await stopped).toBe(false);
  expect(recorder.of("stopped")).toEqual([{ kind: "stopped", drained: false }]);
  await refused.ended();
});

it("answers late requests 503 draining once the time for open requests is up", async () => {
  const { clock, port, proxy, adminUrl, simulator, recorder, config } = await stage();
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
  // Before the body is read, a key claimed or a token awaited.
  expect(await recorder.nth("request_finished", 1)).toMatchObject({ stage: "admit", code: "draining" });
});

it("with drain.min continues to serve for that long, though it is no longer ready", async () => {
  const { clock, url, adminUrl, proxy } = await stage({ config: { drain: { minMs: 60_000 } } });
  const stopped = proxy.stop("SIGTERM");
  expect((await get(adminUrl, "/readyz")).status).toBe(503);
  expect((await call(url, order, { headers: signed })).status).toBe(200);
  clock.push(30_000);
  expect((await call(url, order, { headers: signed })).status).toBe(200);
  clock.push(30_000);
  expect(await stopped).toBe(true);
  await expect(call(url)).rejects.toMatchObject({ code: "ECONNREFUSED" });
});
