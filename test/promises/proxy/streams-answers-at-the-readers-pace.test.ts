/** An answer is passed on as it comes; a slow reader slows the service down, until the deadline. */
import { type EventEmitter, once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { call, order } from "../../../testkit/call.ts";
import { serverTls, trusting } from "../../../testkit/certificates.ts";
import { rawPost } from "../../../testkit/raw-caller.ts";
import type { RawBehaviour } from "../../../testkit/raw-upstream.ts";
import { hmacSite, stage } from "../../../testkit/stage.ts";

const mebibyte = 1_048_576;

/** Long: on a busy machine these answers are slow. */
const timeouts = { requestMs: 60_000, connectMs: 10_000, tokenMs: 10_000 };

it("passes on each piece of a long answer before the next is written", async () => {
  const { url, socket } = await stageByHand();
  const start = "x".repeat(65_536);
  void socket.then((written) => written.write(`HTTP/1.1 200 OK\r\nContent-Length: 65545\r\n\r\n${start}one`));
  const incoming = await open(url);
  incoming.setEncoding("latin1");
  const ended = once(incoming, "end");
  let text = "";
  for (const [end, next] of [
    ["one", "two"],
    ["two", "six"],
    ["six", undefined],
  ] as const) {
    while (!text.endsWith(end)) text += (await once(incoming, "data"))[0];
    if (next !== undefined) (await socket).write(next);
  }
  await ended;
  expect(text).toBe(`${start}onetwosix`);
});

it.each([
  ["TCP", {}],
  ["TLS", { tls: serverTls }],
])(
  "a reader that stalls makes the service stall, and later gets every byte, over %s",
  async (_, over) => {
    const { url, socket, recorder } = await stageByHand(over);
    const size = 128 * mebibyte;
    const piece = Buffer.alloc(mebibyte, "x");
    let taken = 0;
    const writing = socket.then(async (service) => {
      service.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
      for (let written = 0; written < size; written += piece.length) {
        await new Promise((resolve) => service.write(piece, resolve));
        taken = written + piece.length;
      }
    });
    const incoming = await open(url);
    await untilSteady(() => taken);
    // The kernel's buffers on both sides of the proxy, far less than the answer.
    expect(taken).toBeLessThan(40 * mebibyte);
    let read = 0;
    for await (const chunk of incoming) read += chunk.length;
    await writing;
    expect(read).toBe(size);
    expect(await recorder.nth("request_finished", 1)).toMatchObject({ status: 200, outcome: "answered" });
  },
  180_000,
);

/** Resolves when a number has not changed for half a second. */
async function untilSteady(read: () => number): Promise<void> {
  for (let last = -1; last !== read(); ) {
    last = read();
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

it("ends the service's answer too when its caller leaves in the middle, and resends nothing", async () => {
  const { url, socket, upstream, recorder } = await stageByHand();
  const piece = Buffer.alloc(65_536, "x");
  const cutOff = socket.then(async (service) => {
    service.write(`HTTP/1.1 200 OK\r\nContent-Length: ${1_000 * piece.length}\r\n\r\n`);
    const feed = setInterval(() => service.write(piece), 5);
    await closed(service);
    clearInterval(feed);
  });
  const incoming = await open(url);
  incoming.on("error", () => {});
  await once(incoming, "data");
  incoming.destroy();
  await cutOff;
  const end = await recorder.nth("request_finished", 1);
  expect(end).toMatchObject({ callerLeft: true, status: 200, by: "service", attempts: 1 });
  expect(upstream.requests).toHaveLength(1);
  expect(upstream.spoken).toBe(1);
});

it("cuts off a caller that does not read its answer, at the deadline, says so, and frees its place", async () => {
  const timeouts = { requestMs: 1_000, tokenMs: 1_000 };
  const { port, url, recorder, simulator } = await stage({ timeouts, limits: { inFlightPerEnvironment: 2 } });
  const body = "x".repeat(30_000_000);
  simulator.faults.add({ host: "api", kind: "answer", status: 200, executes: true, times: 2, body });
  const callers = [1, 2].map(() => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    // Nobody listens to its data, so nothing is read.
    return socket.write(rawPost());
  });
  expect(callers).toHaveLength(2);
  const ended = await recorder.nth("request_finished", 2);
  expect(ended).toMatchObject({
    status: 200,
    by: "service",
    outcome: "unknown",
    code: "upstream_timeout",
    callerLeft: false,
  });
  expect(ended.durationMs).toBeGreaterThan(900);
  expect((await call(url)).status).toBe(200);
});

/** A signed order whose answer the test reads itself. */
async function open(url: string): Promise<IncomingMessage> {
  const body = JSON.stringify(order);
  const headers = { "Content-Type": "application/json", "Countersign-Site": hmacSite };
  const outgoing = request(`${url}/create_order`, { method: "POST", agent: false, headers });
  outgoing.on("error", () => {});
  onTestFinished(() => void outgoing.destroy());
  outgoing.end(body);
  const [incoming] = await once(outgoing, "response");
  return incoming;
}

/** Resolves at the close, whatever its cause. */
function closed(emitter: EventEmitter): Promise<void> {
  return new Promise((resolve) => emitter.on("error", () => {}).once("close", () => resolve()));
}

/** A service whose answer the test writes by hand. */
async function stageByHand(over: Pick<RawBehaviour, "tls"> = {}) {
  let answering: (socket: Socket) => void = () => {};
  const socket = new Promise<Socket>((resolve) => {
    answering = resolve;
  });
  const service: RawBehaviour = { ...over, answer: (_request, socket) => answering(socket) };
  return { ...(await stage("service", service, { timeouts, environment: { tls: trusting } })), socket };
}
