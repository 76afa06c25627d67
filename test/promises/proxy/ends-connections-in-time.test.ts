/** Row 7: no connection waits for ever: a head has 10 s, the next request 75 s. */
import { expect, it } from "vitest";
import { expectFailure } from "../../../testkit/expect-failure.ts";
import { rawPost, readAnswers } from "../../../testkit/raw-caller.ts";
import { stageConnected } from "../../../testkit/stage.ts";

const tooSlow = {
  status: 408,
  code: "request_timeout",
  detail: /^The request's head was not complete after 10 s\./,
} as const;
const kept = { connection: [] };

async function stage() {
  const { connection, clock, url, recorder, simulator } = await stageConnected();
  return { clock, connection, url, recorder, simulator };
}

/** What was written is read by the proxy, and timers that are due have run. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 100));
}

it.each([
  ["nothing", ""],
  ["half a method", "PO"],
  ["a head without its end", rawPost({ body: "" }).slice(0, -2)],
])("answers 408 where %s has come 10 s after the connection", async (_, bytes) => {
  const { clock, connection, simulator } = await stage();
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
  const { clock, connection } = await stage();
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
  const { clock, connection } = await stage();
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
