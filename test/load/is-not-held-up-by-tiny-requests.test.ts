/** The smallest requests at the highest rate delay no probe, no other caller and no end of the process. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { call } from "../../testkit/call.ts";
import { scrape } from "../../testkit/exposition.ts";
import { print } from "../fleet/redis/load.ts";
import { startServed } from "./served.ts";
import { slowestProbeMs } from "./steady-load.ts";

const callers = 100;
const smallest = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const segment = smallest.repeat(Math.floor(65_536 / smallest.length));
/** Ten times the promise. */
const latestProbeMs = 1_000;
const requestMs = 2_000;
/** Added to the time of a request: for late requests, and for the last lines of the log. */
const lateMs = 5_000;

const settings = { more: `timeouts: { request: ${requestMs}ms }` };

it("answers probes while 100 callers each send 64 KiB of tiny requests and leave, and serves none of those afterwards", async () => {
  const served = await startServed(settings);
  const sockets = await Promise.all(Array.from({ length: callers }, () => open(served.port)));
  const sendAndLeave = async (socket: Socket) => {
    await new Promise((written) => socket.write(segment, written));
    socket.resetAndDestroy();
  };
  const sent = Promise.all(sockets.map(sendAndLeave)).then(() => call(served.url));
  const slowestMs = await slowestProbeMs(served.adminUrl, sent);
  expect((await sent).status).toBe(200);
  const requests = (await scrape(served.adminUrl)).sum("countersign_requests_total", { status: "405" });
  print("tiny requests", { slowestMs, requests });
  expect(slowestMs).toBeLessThan(latestProbeMs);
  expect(requests).toBeLessThan((callers * segment.length) / smallest.length / 10);
  const startedMs = performance.now();
  expect(await served.stop()).toBe(0);
  expect(performance.now() - startedMs).toBeLessThan(requestMs + lateMs);
});

it("ends within its time while callers continue to send", async () => {
  const served = await startServed(settings);
  const sockets = await Promise.all(Array.from({ length: callers }, () => open(served.port)));
  for (const socket of sockets) {
    const send = () => void (socket.writable && socket.write(segment));
    socket.on("drain", send).resume();
    send();
  }
  const orderTenTimes = async () => {
    for (let n = 0; n < 10; n++) expect((await call(served.url)).status).toBe(200);
  };
  const slowestMs = await slowestProbeMs(served.adminUrl, orderTenTimes());
  const startedMs = performance.now();
  const ended = await served.stop();
  const endedMs = performance.now() - startedMs;
  print("callers that go on", { slowestMs, endedMs });
  expect(slowestMs).toBeLessThan(latestProbeMs);
  expect(endedMs).toBeLessThan(requestMs + lateMs);
  expect(typeof ended).toBe("number");
});

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}
