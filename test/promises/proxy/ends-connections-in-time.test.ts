/**
 * Rows 7, 44: no connection waits for ever: a head has 10 s, the next request and a reader 75 s. A connection that is being closed
 * accepts no request any more: its caller would never see the answer.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, it } from "vitest";
import { systemClock } from "../../../src/model/clock.ts";
import type { StreamingRequest } from "../../../src/pass-through/messages.ts";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { RawConnection, rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { ShiftedClock } from "../../../testkit/shifted-clock.ts";
import { stageConnected } from "../../../testkit/stage.ts";
import { openListener, settings } from "./listener-alone.ts";

const tooSlow = {
  status: 408,
  code: "request_timeout",
  detail: /^The request's head was not complete after 10 s\./,
} as const;
const kept = { connection: [] };

/** Resolves when the proxy has read everything written, and timers that are due have run. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 100));
}

it.each([
  ["nothing", ""],
  ["half a method", "PO"],
  ["a head without its end", rawPost({ body: "" }).slice(0, -2)],
])("answers 408 if only %s has come 10 s after the connection", async (_, bytes) => {
  const { clock, connection, simulator } = await stageConnected();
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
  const { clock, connection } = await stageConnected();
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

it("keeps an idle connection for 75 s, and closes it without an answer", async () => {
  const { clock, connection } = await stageConnected();
  await connection.write(rawPost(kept)).until(/"order_1"/);
  clock.push(74_000);
  await settle();
  await connection.write(rawPost(kept)).until(/"order_2"/);
  clock.push(74_000);
  await settle();
  expect(connection.socket.readableEnded).toBe(false);
  clock.push(1_000);
  expect(readAnswers(await connection.ended()).map(({ status }) => status)).toEqual([200, 200]);
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
