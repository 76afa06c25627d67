/**
 * No connection waits for ever: a head has 10 s from its first byte, a reader 75 s. A caller that sends nothing is kept
 * for 75 s, or for a day on this machine, and then closed in silence. A connection that is being closed accepts no request
 * any more: its caller would never see the answer.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/model/clock.ts";
import type { StreamingRequest } from "../../../src/pass-through/messages.ts";
import { get } from "../../../testkit/call.ts";
import { emptyFolder } from "../../../testkit/empty-folder.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { RawConnection, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { stage } from "../../../testkit/stage.ts";
import { openListener, settings } from "./listener-alone.ts";

const tooSlow = {
  status: 408,
  code: "request_timeout",
  detail: /^The request's head was not complete after 10 s\./,
} as const;
const kept = { connection: [] };

it.each([
  ["half a method", "PO"],
  ["a head without its end", rawPost({ body: "" }).slice(0, -2)],
])("answers 408 if only %s has come after 10 s", async (_, bytes) => {
  const { clock, connection, simulator } = await stage("connection");
  // Before the first byte the connection only waits.
  clock.push(60_000);
  connection.write(bytes);
  await settle();
  clock.push(9_000);
  await settle();
  expect(connection.socket.readableEnded).toBe(false);
  clock.push(1_000);
  const [answer, ...more] = readAnswers(await connection.ended());
  expectFailure(answer ?? expect.unreachable(), tooSlow);
  expect(more).toEqual([]);
  expect(simulator.counts().apiRequests).toBe(0);
});

it("gives the head of a later request 10 s from its first byte", async () => {
  const { clock, connection } = await stage("connection");
  await connection.write(rawPost(kept)).until(/"order_1"/);
  clock.push(60_000);
  connection.write("POST /create");
  await settle();
  clock.push(9_000);
  await settle();
  expect(connection.socket.readableEnded).toBe(false);
  clock.push(1_000);
  const answers = readAnswers(await connection.ended());
  expect(answers.map(({ status }) => status)).toEqual([200, 408]);
});

const bare = rawPost({ ...kept, framing: [], body: "" });
const hourMs = 3_600_000;

/** A listener that answers each request with 200, and a connection to it. @param address from which it seems to come */
async function stageListener(address?: string) {
  const clock = new ShiftedClock();
  const answer = async (request: StreamingRequest) => {
    const headers = ["Content-Length", "2"];
    void request.answer({ status: 200, headers, body: Buffer.from("{}"), isLocal: true, isFramed: true }, 0);
  };
  let refusals = 0;
  const refuse = async () => {
    refusals += 1;
  };
  const given = { handler: { handle: answer, refuse }, settings: { ...settings, clock } };
  const { server, port, listener } = await openListener(given);
  server.prependListener("connection", (socket: Socket) => {
    if (address !== undefined) Object.defineProperty(socket, "remoteAddress", { value: address });
  });
  const connection = await RawConnection.open(port);
  await expect.poll(() => listener.open).toBe(1);
  return { clock, connection, refusals: () => refusals };
}

describe.each([
  ["75 s", "192.0.2.1", 74_000, 1_000],
  ["a day, on this machine", undefined, 23 * hourMs, hourMs],
])("a connection that waits for its caller is kept for %s", (_, address, firstMs, restMs) => {
  it.each([
    ["nothing", ""],
    ["an empty line", "\r\n"],
    ["half of an empty line", "\r"],
  ])("and closed in silence if %s has come", async (__, bytes) => {
    const { clock, connection, refusals } = await stageListener(address);
    connection.write(bytes);
    await settle();
    clock.push(firstMs);
    await settle();
    expect(connection.socket.readableEnded).toBe(false);
    clock.push(restMs);
    expect(await connection.ended()).toBe("");
    expect(refusals()).toBe(0);
  });

  it("and serves until then, and again from each answer on", async () => {
    const { clock, connection } = await stageListener(address);
    for (let n = 1; n <= 3; n += 1) {
      clock.push(firstMs);
      await connection
        .write(bare)
        .until(new RegExp(`(?:Keep-Alive: timeout=${(firstMs + restMs) / 1_000}\\r\\n.*){${n}}\\{\\}$`, "s"));
      await settle();
    }
    clock.push(firstMs);
    await settle();
    expect(connection.socket.readableEnded).toBe(false);
    clock.push(restMs);
    expect(readAnswers(await connection.ended()).map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});

it("a connection without a byte is no request: nothing is counted or logged", async () => {
  const { clock, connection, recorder, metrics } = await stage("connection");
  await metrics();
  clock.push(24 * hourMs);
  expect(await connection.ended()).toBe("");
  expect(recorder.count("request_finished")).toBe(0);
});

it("an idle connection on a Unix socket is kept for a day", async () => {
  const path = join(emptyFolder(), "orders.sock");
  const listeners = [{ bind: { kind: "unix", path } as const, environment: "sandbox", hosts: [] }];
  const { clock } = await stage({ config: { listeners } });
  const connection = await RawConnection.open({ path });
  await connection.write(rawPost(kept)).until(/Keep-Alive: timeout=86400\r\n.*"order_1"/s);
  clock.push(23 * hourMs);
  await settle();
  await connection.write(rawPost(kept)).until(/ 200 .* \d{3} /s);
});

it("the admin port answers nothing on a connection without a byte either", async () => {
  const { clock, adminUrl } = await stage();
  const connection = await RawConnection.open(Number(new URL(adminUrl).port));
  await get(adminUrl, "/livez");
  clock.push(60_000);
  await get(adminUrl, "/livez");
  const answers = await connection.write("GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").ended();
  expect(readAnswers(answers).map(({ status }) => status)).toEqual([200]);
});

it("cuts off a caller that does not read its refusal, though it has sent the rest of its body", async () => {
  const clock = new ShiftedClock();
  const body = new Uint8Array(16 * 1_048_576);
  const headers = ["Content-Length", String(body.length)];
  let isRefused = false;
  const handler = {
    async handle(request: StreamingRequest) {
      void request.answer({ status: 404, headers, body, isLocal: true, isFramed: true }, 0);
      isRefused = true;
    },
    refuse: async () => {},
  };
  const { port, listener, server } = await openListener({ handler, settings: { ...settings, clock } });
  const accepted = once(server, "connection");
  const caller = await RawConnection.open(port);
  caller.socket.pause();
  const request = rawPost();
  caller.write(request.slice(0, -1));
  const [socket]: Socket[] = await accepted;
  await expect.poll(() => isRefused).toBe(true);
  caller.write(request.slice(-1));
  await expect.poll(() => socket?.bytesRead).toBe(request.length);
  expect(listener.open).toBe(1);
  clock.push(76_000);
  await expect.poll(() => listener.open).toBe(0);
});

it("serves no request that comes while its connection is being closed", async () => {
  const served: string[] = [];
  const handler = {
    handle: async ({ target }: { readonly target: string }) => void served.push(target),
    refuse: async () => {},
  };
  const { server, port, listener } = await openListener({ handler });
  const accepted = once(server, "connection");
  const idle = await RawConnection.open(port);
  await accepted;
  // Another connection and the request arrive in the same turn of the loop, the connection first.
  server.once("connection", () => listener.closeIdle(systemClock.nowMs()));
  const another = connect(port, "127.0.0.1");
  process.nextTick(() => idle.write(rawPost()));
  expect(await idle.ended()).toBe("");
  another.destroy();
  expect(served).toEqual([]);
});

/** Resolves when the proxy has read everything written, and timers that are due have run. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 100));
}
